import { namesOf } from '../engine/fingerprint/fields.js'
import { type FingerprintStrategy, headerNames } from '../engine/fingerprint/strategy.js'
import type { Freshness } from '../engine/freshness.js'
import type { Concurrency, FailureMeaning, Policy, PolicyOptions } from '../engine/policy.js'
import { formatDuration } from '../kernel/duration.js'
import { catalogue, type ErrorCode, HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { texts } from './contract-texts.js'
import type { KeyHeaderRules, KeySyntax } from './header.js'
import { isNeverKept, keptHeaders } from './kept-headers.js'
import { errorsPlace, problemReply, statusIn } from './problem.js'
import type { Profile, ReplayRule } from './profile.js'

/** What a guarded route is published from. */
export interface PublishedRoute {
  readonly policy: Policy
  readonly key: 'required' | 'optional'
  readonly methods: readonly string[]
  readonly profile: Profile
  readonly keepHeaders: readonly string[]
  readonly bodyLimit: number
  /** Empty when there is no status route. */
  readonly statusAt: string
  readonly authorizeReplay: unknown
}

/** What the options of a route say, and its checked policy no longer does. */
export type PublishedOptions = Pick<PolicyOptions, 'onError' | 'fingerprint'>

/** A length of time, for programs and for people. `ms` is `null` for ever, which JSON has no number for. */
export interface PublishedTime {
  readonly ms: number | null
  readonly text: string
}

/** What the clients of one guarded route may rely on. It is served as it is, so its names are those of the wire. */
export interface RouteContract {
  readonly name: string
  readonly profile: string
  readonly methods: readonly string[]
  readonly key: {
    readonly header: string
    readonly required: boolean
    readonly syntax: KeySyntax
    readonly text: string
    readonly min_length: number
    readonly max_length: number
    /** A regular expression as text, with its flags. */
    readonly format?: { readonly pattern: string; readonly flags: string }
  }
  /** What makes two requests with one key the same, beside method, path, query and media type. */
  readonly compared: {
    readonly by: FingerprintStrategy['kind']
    readonly text: string
    readonly fields?: readonly string[]
    readonly header?: string
    /** Headers that are compared beside the body. */
    readonly headers?: readonly string[]
  }
  readonly retention: PublishedTime
  /** How a request says when it was first made, where one that comes too late is refused. */
  readonly freshness?: { readonly by: Freshness['by']; readonly text: string; readonly header?: string }
  readonly after_expiry: {
    readonly key: Policy['onExpired']
    readonly text: string
    /** For how long its first use is still known. */
    readonly recognised_for: PublishedTime
  }
  readonly duplicates: { readonly mode: Concurrency; readonly text: string; readonly wait?: PublishedTime }
  readonly answers: { readonly text: string }
  readonly failures: { readonly meaning: FailureMeaning | 'decided'; readonly text: string }
  readonly crashes: { readonly meaning: Policy['onCrash']; readonly text: string }
  readonly store_down: { readonly meaning: 'refuse' | 'run'; readonly text: string }
  readonly replay: ReplayRule & {
    readonly text: string
    readonly marked_by: Readonly<Record<string, string>>
    readonly carries: readonly string[]
    readonly never_carries: readonly string[]
  }
  readonly limits: {
    readonly answer_bytes: number
    readonly body_bytes: number
    readonly run: PublishedTime
  }
  /** The status of every error that this route can end in. */
  readonly statuses: Readonly<Partial<Record<ErrorCode, number>>>
  /** Where a caller may ask how its key stands, with the key in its header. */
  readonly key_status?: string
  /** What an error looks like, and where all of them are explained. */
  readonly errors: { readonly place: string; readonly media_type: string; readonly example: unknown }
}

/** Everything that is published of a route, from what guards it and nothing else. */
export function routeContract(route: PublishedRoute, options: PublishedOptions): RouteContract {
  const { policy, key, methods, profile, bodyLimit } = route
  refuseUnusableDocs(profile, policy.name)
  const onError = options.onError ?? profile.defaults.onError ?? 'retry'
  const meaning = typeof onError === 'function' ? 'decided' : onError
  const { concurrency, onExpired, onCrash, failOpen } = policy
  const storeDown = failOpen ? 'run' : 'refuse'
  return {
    name: policy.name,
    profile: profile.name,
    methods,
    key: { header: spelledOut(profile.header), required: key === 'required', ...keyContract(profile.key) },
    compared: comparedBy(options.fingerprint?.strategy ?? { kind: 'whole' }),
    retention: timeOf(policy.retentionMs),
    ...freshnessOf(policy),
    after_expiry: { key: onExpired, text: texts.expiry[onExpired], recognised_for: timeOf(policy.tombstoneMs) },
    duplicates: {
      mode: concurrency,
      text: texts.duplicates[concurrency],
      ...(concurrency === 'wait' ? { wait: timeOf(policy.waitMs) } : {}),
    },
    answers: { text: texts.answers },
    failures: { meaning, text: texts.failures[meaning] },
    crashes: { meaning: onCrash, text: texts.crashes[onCrash] },
    store_down: { meaning: storeDown, text: texts.storeDown[storeDown] },
    replay: {
      ...profile.replay,
      text: texts.replay[profile.replay.kind],
      marked_by: Object.fromEntries(profile.replayed),
      ...headersOf(route.keepHeaders),
    },
    limits: { answer_bytes: policy.maxAnswerBytes, body_bytes: bodyLimit, run: timeOf(policy.maxRunMs) },
    statuses: statusesOf(route, options),
    ...(route.statusAt === '' ? {} : { key_status: route.statusAt }),
    errors: { place: errorsPlace(profile), ...problemOf(profile, 'idempotency_key_in_progress') },
  }
}

/** These stand in every problem, in a header: what a header cannot hold would break each of them. */
function refuseUnusableDocs({ name, docs }: Profile, route: string): void {
  if (/^(?:\/|https?:\/\/)[^\s<>"#?\\]*$/.test(docs)) return
  const message = `Route "${route}": docs of profile ${name} is ${JSON.stringify(docs)}; give a path or an address, like '/idempotency'.`
  throw new HapaxError('policy_invalid', message)
}

function keyContract(rules: KeyHeaderRules) {
  const { syntax = 'lenient', minLength = 1, maxLength = limits.keyLength, format } = rules
  const pattern = format === undefined ? {} : { format: { pattern: format.source, flags: format.flags } }
  const longest = Math.min(maxLength, limits.keyLength)
  return { syntax, text: texts.syntax[syntax], min_length: minLength, max_length: longest, ...pattern }
}

function comparedBy(strategy: FingerprintStrategy): RouteContract['compared'] {
  const { headers = [] } = strategy
  const also = headers.length === 0 ? {} : { headers: headerNames(headers).map(spelledOut) }
  const said = { by: strategy.kind, text: texts.compared[strategy.kind], ...also }
  switch (strategy.kind) {
    case 'whole':
    case 'raw':
    case 'own':
      return said
    case 'fields': {
      const fields = (strategy.select ?? strategy.exclude).map((path) => namesOf(path).join('.'))
      return strategy.select === undefined ? { ...said, text: texts.allButFields, fields } : { ...said, fields }
    }
    case 'header':
      return { ...said, header: spelledOut(strategy.name) }
  }
}

function freshnessOf({ freshness }: Policy): Pick<RouteContract, 'freshness'> {
  if (freshness === undefined) return {}
  const said = { by: freshness.by, text: texts.freshness[freshness.by] }
  return { freshness: freshness.by === 'key' ? said : { ...said, header: spelledOut(freshness.name) } }
}

/** Asked of the one who decides it, about every header of a response that is of interest here. */
function headersOf(more: readonly string[]): Pick<RouteContract['replay'], 'carries' | 'never_carries'> {
  const names = [...new Set([...ofInterest, ...more.map((name) => name.toLowerCase())])]
  const carried = keptHeaders(
    names.map((name) => [name, '']),
    more,
  )
  return {
    carries: carried.map(([name]) => spelledOut(name)),
    never_carries: names.filter(isNeverKept).map(spelledOut),
  }
}

/** What describes a body or a resource, what speaks of one client, and what belongs to one connection or one moment. */
const ofInterest = [
  ...['content-type', 'content-encoding', 'content-language', 'content-disposition', 'content-location', 'location'],
  ...['etag', 'last-modified', 'link', 'set-cookie', 'authorization', 'www-authenticate', 'authentication-info'],
  ...['proxy-authenticate', 'proxy-authorization', 'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'content-length', 'date'],
]

function statusesOf(route: PublishedRoute, options: PublishedOptions): RouteContract['statuses'] {
  const codes = (Object.keys(catalogue) as ErrorCode[]).filter((code) => isMet(code, route, options))
  return Object.fromEntries(codes.map((code) => [code, statusIn(route.profile, code)]))
}

/** A bug on this side has one status, whatever its code; and some codes need an option that the route does not have. */
function isMet(code: ErrorCode, route: PublishedRoute, { fingerprint }: PublishedOptions): boolean {
  const { policy, key, profile, authorizeReplay } = route
  switch (code) {
    case 'idempotency_key_missing':
      return key === 'required'
    case 'idempotency_key_expired':
      return policy.onExpired === 'refuse'
    case 'waiting_room_full':
      return policy.concurrency === 'wait'
    case 'body_not_canonical':
      return fingerprint?.strict === true
    case 'fingerprint_header_missing':
      return fingerprint?.strategy?.kind === 'header'
    case 'request_not_fresh':
      return policy.freshness !== undefined
    case 'first_sent_invalid':
      return policy.freshness?.by === 'header'
    case 'replay_forbidden':
      return authorizeReplay !== undefined
    case 'idempotency_key_unknown':
      return false
    default:
      return catalogue[code].fault !== 'developer' || statusIn(profile, code) < 500
  }
}

/** A problem as it would be sent. */
export function problemOf(
  profile: Profile,
  code: ErrorCode,
): { readonly media_type: string; readonly example: unknown } {
  const { headers, body } = problemReply(new HapaxError(code), profile)
  const mediaType = headers.find(([name]) => name === 'Content-Type')?.[1] ?? ''
  return { media_type: mediaType, example: JSON.parse(Buffer.from(body).toString()) }
}

function timeOf(ms: number | undefined): PublishedTime {
  return ms === undefined ? { ms: null, text: 'forever' } : { ms, text: formatDuration(ms) }
}

/** `Idempotency-Key`, as documents write it; to HTTP it is the same name. */
function spelledOut(header: string): string {
  const name = header.toLowerCase()
  return acronyms[name] ?? name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase())
}

const acronyms: Readonly<Record<string, string>> = { etag: 'ETag', te: 'TE', 'www-authenticate': 'WWW-Authenticate' }
