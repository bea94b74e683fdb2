import { guard } from '../adapters/fetch.js'
import type { Engine } from '../engine/engine.js'
import type { StoredAnswer } from '../engine/record.js'
import { adminTenant } from '../engine/tenant.js'
import { unpublished } from '../http/contract.js'
import { catalogue, HapaxError, isHapaxError } from '../kernel/errors.js'
import { adminBounds } from '../kernel/limits.js'
import type { Log } from '../kernel/log.js'
import { type Admin, type AdminOptions, admin } from './admin.js'
import { type Authorize, ensureAny, type Operator } from './authorize.js'
import type { Endpoint } from './endpoint.js'
import { endpoints } from './endpoints.js'
import { type Given, read } from './fields.js'
import { describeApi } from './openapi.js'
import { isRefused, Refused, refusals } from './refused.js'
import { eventStreams } from './stream.js'
import { mayBeToldAgain } from './told-again.js'

export interface AdminApiOptions<Tx> extends AdminOptions<Tx> {
  /** Without it nobody is let in. */
  readonly authorize?: Authorize
  /** Where it is mounted, such as `'/admin'`. Default: at the root. */
  readonly path?: string
  /** `'read-only'` refuses every write, whoever asks. Default `'read-write'`. */
  readonly mode?: 'read-write' | 'read-only'
}

const modes: readonly AdminApiOptions<unknown>['mode'][] = ['read-write', 'read-only']

export interface AdminApi {
  (request: Request): Promise<Response>
  /** Ends the streams of events, and stops listening to the engine. */
  close(): void
}

/**
 * What operators do, as an HTTP API: a function from a Request to a Response, for whatever serves those. It is described at
 * `/openapi.json`. Every write needs a reason and an Idempotency-Key, and is written down in the audit log.
 *
 * @example
 * const api = adminApi({ hapax, path: '/admin', authorize: (request) => operatorOf(request) })
 */
export function adminApi<Tx>(options: AdminApiOptions<Tx>): AdminApi {
  const { hapax, authorize, path = '', mode = 'read-write' } = options
  // A misspelt mode would let everything through.
  if (!modes.includes(mode)) throw new HapaxError('policy_invalid', `mode is one of ${modes.join(', ')}.`)
  const actions = admin(options)
  const streams = eventStreams(hapax.events, hapax.clock)
  const operators = new WeakMap<Request, Operator>()
  const writes = new Map(
    endpoints
      .filter(({ does }) => does === 'write')
      .map((endpoint) => [endpoint, guarded(hapax, endpoint, actions, operators)]),
  )

  async function operatorOf(request: Request): Promise<Operator> {
    if (authorize === undefined) throw new Refused('closed')
    const operator = await authorize(request)
    if (operator === undefined) throw new Refused('unauthorized')
    return operator
  }

  async function answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const operator = await operatorOf(request)
    const asked = askedIn(searchParams)
    const place = pathname.startsWith(path) ? pathname.slice(path.length) : ''
    if (request.method === 'GET' && place === '/openapi.json') {
      read({}, asked)
      return json(200, describeApi(path))
    }
    if (request.method === 'GET' && place === '/events') {
      const where = ensureAny(operator, 'read')
      read({}, asked)
      return streams.open(request.signal, where, request.headers.get('last-event-id'))
    }
    const here = endpoints.filter((endpoint) => endpoint.path === place)
    const endpoint = here.find(({ method }) => method === request.method)
    if (endpoint === undefined) throw new Refused(here.length === 0 ? 'not_found' : 'method_not_allowed')
    // A write takes nothing from its address: what is said there would not be done.
    if (endpoint.method === 'POST') read({}, asked)
    if (endpoint.does === 'read') return json(200, await shown(endpoint, request, asked, operator))
    refuseWrite(request, mode)
    // Before the door, so that who may no longer do something anywhere takes no key for it.
    ensureAny(operator, endpoint.permission)
    operators.set(request, operator)
    const write = writes.get(endpoint)
    if (write === undefined) throw new Refused('not_found')
    return write(request)
  }

  async function shown(endpoint: Endpoint, request: Request, asked: Given, operator: Operator): Promise<unknown> {
    ensureAny(operator, endpoint.permission)
    const given = endpoint.method === 'GET' ? asked : await bodyOf(request)
    return endpoint.run(actions, read(endpoint.query ?? endpoint.body ?? {}, given), operator)
  }

  const api = async (request: Request): Promise<Response> => {
    try {
      return await answer(request)
    } catch (error) {
      return problem(error, hapax.log)
    }
  }
  return Object.assign(api, {
    close() {
      streams.close()
      actions.close()
    },
  })
}

/** A write goes through the same door as any guarded request: what is sent twice is done once. */
function guarded<Tx>(hapax: Engine<Tx>, endpoint: Endpoint, actions: Admin, operators: WeakMap<Request, Operator>) {
  const route = {
    name: `admin${endpoint.path.replaceAll('/', '.')}`,
    scope: (request: Request) => ({ tenant: adminTenant, principal: operators.get(request)?.who ?? 'nobody' }),
    retention: adminBounds.retention,
    authorizeReplay: (request: Request, stored: StoredAnswer) => {
      const operator = operators.get(request)
      return operator !== undefined && mayBeToldAgain(operator, endpoint.permission, stored)
    },
    bodyLimit: adminBounds.bodyBytes,
    // Whatever it did is in the audit log, with its commit: it is judged anew, and refused if it was done.
    onCrash: 'retry',
    // A refusal has changed nothing: its key is free, so that what was too early may be sent again as it was.
    onError: (failure: unknown) => (isRefused(failure) ? 'release' : 'retry'),
  } as const
  return guard(unpublished(hapax), route, async (request: Request): Promise<Response> => {
    const operator = operators.get(request)
    if (operator === undefined) throw new Refused('unauthorized')
    const given = read(endpoint.body ?? {}, await bodyOf(request))
    return json(200, await endpoint.run(actions, given, operator))
  })
}

/**
 * A page of another site can have a browser send a request with all that it knows its user by. Browsers say so; what is no
 * browser does not. A form cannot send JSON without asking first.
 */
function refuseWrite(request: Request, mode: AdminApiOptions<unknown>['mode']): void {
  if (mode === 'read-only') throw new Refused('read_only')
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') throw new Refused('cross_site')
  refuseOtherMedia(request)
}

function refuseOtherMedia(request: Request): void {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new Refused('media_type', 'Send a JSON object, with its Content-Type.')
}

/** What is said twice is not known. */
function askedIn(search: URLSearchParams): Given {
  const names = [...search.keys()]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Refused('invalid', `${twice} is there twice.`)
  return Object.fromEntries(search)
}

async function bodyOf(request: Request): Promise<Given> {
  refuseOtherMedia(request)
  const bytes = await boundedBytes(request.body)
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Given
  } catch {
    // Told below.
  }
  throw new Refused('invalid', 'The body is no JSON object.')
}

/** No more is read than may come. */
async function boundedBytes(body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of body ?? []) {
    size += piece.byteLength
    if (size > adminBounds.bodyBytes) throw new Refused('too_large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function json(status: number, value: unknown): Response {
  return Response.json(value, { status, headers: quiet })
}

const quiet = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }

function problem(error: unknown, log: Log): Response {
  if (isRefused(error)) {
    const { code, status, message, retryAfterMs } = error
    const retryAfter = retryAfterMs === undefined ? undefined : Math.ceil(retryAfterMs / 1_000)
    const body = {
      type: 'about:blank',
      title: refusals[code].title,
      status,
      code,
      detail: message,
      retryable: retryAfter !== undefined,
      ...(retryAfter !== undefined && { retry_after: retryAfter }),
    }
    return problemJson(status, body, retryAfter)
  }
  if (isHapaxError(error)) {
    const { code, message: detail, retryable, fault } = error
    const said = { type: 'about:blank', title: catalogue[code].summary, code, retryable }
    if (fault !== 'store' && fault !== 'operator') return problemJson(400, { ...said, status: 400, detail })
    // In the words of a database there may be anything: they are for the log.
    log({ level: 'error', code, message: `a request to the admin API got 503: ${detail}` })
    return problemJson(503, { ...said, status: 503 })
  }
  throw error
}

function problemJson(status: number, body: object, retryAfter?: number): Response {
  const headers = {
    ...quiet,
    'Content-Type': 'application/problem+json',
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
  }
  return new Response(JSON.stringify(body), { status, headers })
}
