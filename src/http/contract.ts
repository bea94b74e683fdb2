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

/** What one engine guards, on the engine itself: a table of all engines would keep them longer than anybody needs them. */
const guards = Symbol('what it guards')

interface Guarding {
  [guards]?: Guards
}

interface Guards {
  /** As they came: hardly anybody reads a contract, and to tell two of them apart takes longer than to guard a request. */
  readonly unread: Published[]
  /**
   * By what they are made of: one name may be guarded at two paths, and a guard that is made anew each time is the same one.
   * A contract is spelled out only when somebody reads it.
   */
  readonly distinct: Map<string, Published>
}

interface Published {
  readonly route: PublishedRoute
  readonly options: PublishedOptions
}

/** Where guards are made anew for each request, so many are kept until equal ones are dropped. */
const mostUnread = 64

/** The same engine, whose routes are in nobody's contract: what operators use is no business of clients. */
export function unpublished<E extends object>(engine: E): E {
  return { ...engine, [guards]: undefined }
}

/** Enters a route into the contract of its engine. */
export function publish<R extends PublishedRoute>(engine: object, route: R, options: PublishedOptions): R {
  refuseUnusableDocs(route.profile, route.policy.name)
  const guarding: Guarding = engine
  guarding[guards] ??= { unread: [], distinct: new Map() }
  if (guarding[guards].unread.push({ route, options }) >= mostUnread) read(guarding[guards])
  return route
}

/** Keeps one of those that are made of the same. */
function read({ unread, distinct }: Guards): Iterable<Published> {
  for (const published of unread.splice(0)) {
    const madeOf = spelledOut(published)
    if (!distinct.has(madeOf)) distinct.set(madeOf, published)
  }
  return distinct.values()
}

function spelledOut({ route, options }: Published): string {
  const { policy, key, methods, profile, keepHeaders, bodyLimit, statusAt, authorizeReplay } = route
  const { onError, fingerprint } = options
  const all = [policy, key, methods, profile, keepHeaders, bodyLimit, statusAt, authorizeReplay, onError, fingerprint]
  return JSON.stringify(all, spelled)
}

/** That there is a function is all that a contract says of it. */
function spelled(_: string, value: unknown): unknown {
  if (typeof value === 'function') return 'a function'
  return value instanceof RegExp ? String(value) : value
}

export function guardedBy(engine: object): readonly Guarded[] {
  const { [guards]: known }: Guarding = engine
  if (known === undefined) return []
  const all = Array.from(read(known), ({ route, options }) => ({
    contract: routeContract(route, options),
    profile: route.profile,
  }))
  return [...new Map(all.map((one) => [JSON.stringify(one.contract), one])).values()]
}
