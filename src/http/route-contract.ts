import { namesOf } from '../engine/fingerprint/fields.js'
import { type FingerprintStrategy, headerNames } from '../engine/fingerprint/strategy.js'
import type { Policy } from '../engine/policy.js'
import { formatDuration } from '../kernel/duration.js'
import { type ErrorCode, HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { PublishedOptions, PublishedRoute, PublishedTime, RouteContract } from './contract-data.js'
import { texts } from './contract-texts.js'
import type { KeyHeaderRules } from './header.js'
import { isNeverKept, kept, keptHeaders, never } from './kept-headers.js'
import { statusesOf } from './met-errors.js'
import { errorsPlace, problemReply } from './problem.js'
import type { Profile } from './profile.js'

/** Everything that is published of a route, from what guards it and nothing else. */
export function routeContract(route: PublishedRoute, options: PublishedOptions): RouteContract {
  const { policy, key, methods, profile, bodyLimit } = route
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
export function refuseUnusableDocs({ name, docs }: Profile, route: string): void {
  if (/^(?:\/|https?:\/\/)[^\s<>"#?\\]*$/.test(docs)) return
  const message = `Route "${route}": docs of profile ${name} is ${JSON.stringify(docs)}; give a path or an address, like '/idempotency'.`
  throw new HapaxError('policy_invalid', message)
}

function keyContract(rules: KeyHeaderRules) {
  const { syntax = 'lenient', minLength = 1, maxLength = limits.keyLength, minVariety, format } = rules
  const pattern = format === undefined ? {} : { format: { pattern: format.source, flags: format.flags } }
  const variety = minVariety === undefined ? {} : { min_variety: minVariety }
  return { syntax, text: texts.syntax[syntax], min_length: minLength, max_length: maxLength, ...variety, ...pattern }
}

function comparedBy(strategy: FingerprintStrategy): RouteContract['compared'] {
  const { headers = [], without = [] } = strategy
  const also = headers.length === 0 ? {} : { headers: headerNames(headers).map(spelledOut) }
  const less = without.length === 0 ? {} : { without }
  const said = { by: strategy.kind, text: texts.compared[strategy.kind], ...also, ...less }
  switch (strategy.kind) {
    case 'whole':
    case 'raw':
      return said
    case 'own': {
      const fields = strategy.fields?.map((path) => namesOf(path).join('.'))
      if (fields === undefined) return said
      return { ...said, text: fields.length === 0 ? texts.noFields : texts.compared.fields, fields }
    }
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

/** Asked of the one who decides it, about every header that it has a word on. */
function headersOf(more: readonly string[]): Pick<RouteContract['replay'], 'carries' | 'never_carries'> {
  const names = [...new Set([...kept, ...never, ...more.map((name) => name.toLowerCase())])]
  const carried = keptHeaders(
    names.map((name) => [name, '']),
    more,
  )
  return {
    carries: carried.map(([name]) => spelledOut(name)),
    never_carries: names.filter(isNeverKept).map(spelledOut),
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
