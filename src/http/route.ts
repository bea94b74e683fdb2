import type { Engine } from '../engine/engine.js'
import { type Limiter, limiterOf, type Rate } from '../engine/limiter.js'
import type { Operation } from '../engine/operation.js'
import { valueToAnswer } from '../engine/plain.js'
import type { Policy, PolicyOptions } from '../engine/policy.js'
import type { StoredAnswer } from '../engine/record.js'
import type { ScopeParts } from '../engine/scope.js'
import type { Awaitable } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import { checkedProfile } from './checked-profile.js'
import { publish } from './contract.js'
import type { Reply } from './exchange.js'
import { checkedKeyRules, type KeyHeaderRules } from './header.js'
import { routeWording } from './kept-answer.js'
import { isNeverKept } from './kept-headers.js'
import type { Profile } from './profile.js'
import { ietf } from './profiles/ietf.js'

/** How one route is guarded: everything a policy says, and what HTTP adds. What it leaves out, its profile says. */
export interface RouteOptions<Request> extends PolicyOptions {
  /** Whose key it is: the tenant of the authenticated caller, never a value that the request says about itself. */
  readonly scope: (request: Request) => string | ScopeParts | Promise<string | ScopeParts>
  /** Whether a request must bring a key. Default `'required'`. */
  readonly key?: 'required' | 'optional'
  /** Which methods are guarded. Default POST and PATCH; GET, HEAD, OPTIONS and TRACE never are. */
  readonly methods?: readonly GuardedMethod[]
  /** The published contract, one of `profiles` or your own. Default `profiles.ietf`. */
  readonly profile?: Profile
  /** Where this route asks for other keys than its profile does. */
  readonly keyRules?: KeyHeaderRules
  /**
   * For a profile that replays the current state, and only there: what the resource of the first reply is like by now,
   * as JSON. `undefined` when there is nothing newer to say than that reply.
   */
  readonly currentState?: (stored: Reply, request: Request) => unknown
  /**
   * Whether this caller may still be given the stored answer, for rights that can be taken away between a request and its
   * retry. Authentication and authorisation run before the guard anyway, on a replay too.
   */
  readonly authorizeReplay?: (request: Request, stored: StoredAnswer) => boolean | Promise<boolean>
  /** How often the answer to one key may be given again here, in place of what `engine({ replays })` says for all routes. */
  readonly replays?: Rate | Limiter
  /** With `concurrency: 'accept'`: the path of the status route, where a duplicate may ask how its key stands. */
  readonly statusAt?: string
  /** Headers of the reply that a replay carries too. */
  readonly keepHeaders?: readonly string[]
  /** The longest body that is read, in bytes. */
  readonly bodyLimit?: number
}

/** A route that is bound to an operation, whatever its input is. */
export interface AnyOperationRoute<Tx, Request> extends Omit<RouteOptions<Request>, keyof PolicyOptions> {
  readonly operation: Operation<Tx, never>
  readonly input?: (request: Request) => unknown
}

/** A route that is bound to an operation, which says all that a policy would. */
export interface OperationRouteOptions<Tx, Request, Input = unknown> extends AnyOperationRoute<Tx, Request> {
  readonly operation: Operation<Tx, Input>
  /** The input of the operation, out of the request. Default: the body, read as JSON. */
  readonly input?: (request: Request) => Awaitable<Input>
}

export type GuardedMethod = 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** A route that was checked, once, at start. */
export interface Route<Request> {
  readonly policy: Policy
  readonly scope: RouteOptions<Request>['scope']
  readonly key: 'required' | 'optional'
  readonly methods: readonly string[]
  readonly profile: Profile
  /** In lower case. */
  readonly keepHeaders: readonly string[]
  readonly bodyLimit: number
  readonly authorizeReplay: RouteOptions<Request>['authorizeReplay']
  readonly replays: Limiter | undefined
  readonly statusAt: string
  /** What a replay returns, given what is stored. */
  readonly replay: (stored: Reply, request: Request) => Awaitable<Reply>
  /** The operation that answers in place of a handler. */
  readonly bound: BoundOperation<Request> | undefined
}

export interface BoundOperation<Request> {
  readonly operation: Operation<never, never>
  readonly input: ((request: Request) => unknown) | undefined
}

export function routeOf<Tx, Request>(
  engine: Engine<Tx>,
  given: RouteOptions<Request> | AnyOperationRoute<Tx, Request>,
): Route<Request> {
  refuseMissing(given)
  const { options, name, bound } = boundOptions(given)
  const { scope, key = 'required', methods = ['POST', 'PATCH'], keyRules = {} } = options
  const { keepHeaders = [], bodyLimit = defaults.bodyLimitBytes, authorizeReplay, statusAt = '' } = options
  refuseContradictions(options, name)
  const where = `Route "${name}"`
  const published = checkedProfile(options.profile ?? ietf, where)
  const profile = { ...published, key: checkedKeyRules({ ...published.key, ...withoutAbsent(keyRules) }, where) }
  const kept = keepHeaders.map((name) => name.toLowerCase())
  const policy =
    bound === undefined
      ? engine.policy({ ...published.defaults, ...policyOptionsOf(options) })
      : engine.bound(
          bound.operation as unknown as Operation<Tx, never>,
          published.defaults,
          routeWording(profile, kept),
        )
  const replay = replayOf(name, profile, options.currentState)
  return publish(
    engine,
    {
      policy,
      scope,
      key,
      methods,
      profile,
      keepHeaders: kept,
      bodyLimit,
      authorizeReplay,
      replays: options.replays === undefined ? undefined : limiterOf(options.replays, `${where}: replays`),
      statusAt,
      replay,
      bound,
    },
    options,
  )
}

/** Where a route runs an operation, its name is said there. */
type UnnamedOptions<Request> = Omit<RouteOptions<Request>, 'name'>

/** The name of the route is that of its operation. What an operation says of itself is not said again here. */
function boundOptions<Tx, Request>(
  given: RouteOptions<Request> | AnyOperationRoute<Tx, Request>,
): {
  readonly options: UnnamedOptions<Request>
  readonly name: string
  readonly bound: BoundOperation<Request> | undefined
} {
  if (!('operation' in given) || given.operation === undefined) {
    const options = given as RouteOptions<Request>
    return { options, name: options.name, bound: undefined }
  }
  const { operation, input } = given
  const name = operation?.name
  const said = Object.keys(given).find((option) => !Object.hasOwn(httpOptions, option) && !isOfOperation(option))
  if (typeof operation?.handler !== 'function' || typeof name !== 'string')
    throw new HapaxError('policy_invalid', 'operation is what hapax.operation(name, options, handler) gave.')
  if (said !== undefined)
    throw new HapaxError(
      'policy_invalid',
      `Route "${name}": say ${said} where the operation is made, not at its route.`,
    )
  if (input !== undefined && typeof input !== 'function')
    throw new HapaxError(
      'policy_invalid',
      `Route "${name}": input is a function from the request to the operation's input.`,
    )
  return { options: given, name, bound: { operation: operation as Operation<never, never>, input } }
}

function isOfOperation(option: string): boolean {
  return option === 'operation' || option === 'input'
}

/** What is said here and not in the policy. The compiler sees that none is missing. */
const httpOptions: Readonly<Record<Exclude<keyof RouteOptions<never>, keyof PolicyOptions>, true>> = {
  scope: true,
  key: true,
  methods: true,
  profile: true,
  keyRules: true,
  currentState: true,
  authorizeReplay: true,
  replays: true,
  statusAt: true,
  keepHeaders: true,
  bodyLimit: true,
}

function policyOptionsOf<Request>(options: UnnamedOptions<Request>): PolicyOptions {
  const said: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !Object.hasOwn(httpOptions, name)) said[name] = value
  return said as unknown as PolicyOptions
}

/** An option that is `undefined` says nothing, so it must not hide what the profile says. */
function withoutAbsent<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}

function refuseMissing(options: unknown): void {
  if (typeof options === 'object' && options !== null) return
  const message = "guard has no options: give { name: 'payments.create', scope: tenantOf } as its second argument."
  throw new HapaxError('policy_invalid', message)
}

function refuseContradictions<Request>(options: UnnamedOptions<Request>, name: string): void {
  const { scope, key, methods = [], keepHeaders = [], bodyLimit = 0, concurrency, statusAt } = options
  const refuse = (message: string): never => {
    throw new HapaxError('policy_invalid', `Route "${name}": ${message}`)
  }
  if (typeof scope !== 'function') {
    const message = `Route "${name}" has no scope: give a function from the authenticated request to its tenant.`
    throw new HapaxError('scope_missing', message)
  }
  if (key !== undefined && key !== 'required' && key !== 'optional') refuse('key is required or optional.')
  if (!Array.isArray(methods)) refuse("methods is a list, like ['POST'].")
  if (!Array.isArray(keepHeaders)) refuse("keepHeaders is a list, like ['X-Request-Cost'].")
  const safe = methods.find((method) => !guardable.has(method))
  if (safe !== undefined) refuse(`${safe} is never guarded; choose of ${[...guardable].join(', ')}.`)
  const forbidden = keepHeaders.find(isNeverKept)
  if (forbidden !== undefined) refuse(`${forbidden} is never replayed; leave it out.`)
  if (!Number.isSafeInteger(bodyLimit) || bodyLimit < 0) refuse('bodyLimit is a whole number of bytes.')
  if (concurrency === 'accept' && !statusAt)
    refuse("with concurrency: 'accept', give statusAt: the path of keyStatus, where a duplicate may ask for its key.")
}

const guardable: ReadonlySet<string> = new Set<GuardedMethod>(['POST', 'PATCH', 'PUT', 'DELETE'])

function replayOf<Request>(
  name: string,
  profile: Profile,
  currentState: RouteOptions<Request>['currentState'],
): Route<Request>['replay'] {
  const { replay } = profile
  if (replay.kind === 'as_stored') {
    if (currentState === undefined) return (stored) => stored
    const message = `Route "${name}": profile ${profile.name} replays what is stored; leave currentState out.`
    throw new HapaxError('policy_invalid', message)
  }
  if (typeof currentState !== 'function') {
    const message = `Route "${name}": profile ${profile.name} replays the current state; give currentState, which looks it up.`
    throw new HapaxError('policy_invalid', message)
  }
  return async (stored, request) => {
    if (stored.status >= 400) return stored
    const state = await currentState(stored, request)
    if (state === undefined) return { ...stored, status: replay.status }
    const { headers, body } = valueToAnswer(state)
    const others = stored.headers.filter(([name]) => !describesBody.has(name.toLowerCase()))
    return { status: replay.status, headers: [...headers, ...others], body }
  }
}

/** These would be lies about another body than the stored one. */
const describesBody = new Set(['content-type', 'content-encoding', 'content-language', 'etag', 'last-modified'])
