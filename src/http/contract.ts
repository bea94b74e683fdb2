import type { Engine } from '../engine/engine.js'
import type { PublishedOptions, PublishedRoute, RouteContract } from './contract-data.js'
import type { Profile } from './profile.js'
import { refuseUnusableDocs, routeContract } from './route-contract.js'

/** What only the owner of an API knows. */
export interface ContractAbout {
  /** Whose keys are apart, in words: `'tenant and user'`. */
  readonly scopedBy?: string
  /** Where clients read more. */
  readonly documentation?: string
}

/** The active policy of everything that one engine guards. It is served as it is, so its names are those of the wire. */
export interface Contract {
  readonly scoped_by: string
  readonly documentation?: string
  readonly routes: readonly RouteContract[]
}

/**
 * The active policy, for the clients of an API: key, statuses, retention, what a replay returns, limits. It is made from
 * what guards the routes, so it cannot say anything else than they do.
 *
 * @example
 * app.get('/idempotency/policy', () => contractOf(hapax, { scopedBy: 'account' }))
 */
export function contractOf<Tx>(hapax: Engine<Tx>, about: ContractAbout = {}): Contract {
  const { scopedBy = 'the authenticated caller', documentation } = about
  return {
    scoped_by: scopedBy,
    ...(documentation === undefined ? {} : { documentation }),
    routes: guardedBy(hapax).map(({ contract }) => contract),
  }
}

interface Guarded {
  readonly contract: RouteContract
  readonly profile: Profile
}

/**
 * By what they are made of: one name may be guarded at two paths, and a guard that is made anew each time is the same one. A
 * contract is spelled out only when somebody reads it.
 */
const guarded = new WeakMap<object, Map<string, () => Guarded>>()

/** Enters a route into the contract of its engine. */
export function publish<R extends PublishedRoute>(engine: object, route: R, options: PublishedOptions): R {
  refuseUnusableDocs(route.profile, route.policy.name)
  const routes = guarded.get(engine) ?? new Map<string, () => Guarded>()
  const { policy, key, methods, profile, keepHeaders, bodyLimit, statusAt, authorizeReplay } = route
  const { onError, fingerprint } = options
  const all = [policy, key, methods, profile, keepHeaders, bodyLimit, statusAt, authorizeReplay, onError, fingerprint]
  const madeOf = JSON.stringify(all, spelled)
  if (!routes.has(madeOf))
    routes.set(madeOf, () => ({ contract: routeContract(route, options), profile: route.profile }))
  guarded.set(engine, routes)
  return route
}

/** That there is a function is all that a contract says of it. */
function spelled(_: string, value: unknown): unknown {
  if (typeof value === 'function') return 'a function'
  return value instanceof RegExp ? String(value) : value
}

export function guardedBy(engine: object): readonly Guarded[] {
  const all = [...(guarded.get(engine)?.values() ?? [])].map((spelledOut) => spelledOut())
  return [...new Map(all.map((one) => [JSON.stringify(one.contract), one])).values()]
}
