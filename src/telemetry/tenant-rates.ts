import type { Scope } from '../engine/scope.js'
import { adminTenant, tenantOf } from '../engine/tenant.js'
import type { Clock } from '../kernel/clock.js'
import { telemetryBounds } from '../kernel/limits.js'

/** How often something came about in the last minutes. */
export interface Rates {
  /** All that came with a key. */
  readonly requests: number
  /** Of these, those whose key was known: replayed, sent away because the first still ran, or met with an unknown outcome. */
  readonly duplicates: number
  /** Of the duplicates, those that came while the first still ran. */
  readonly conflicts: number
  /** Those that came under the key of another request. */
  readonly mismatches: number
  /** Parts of the requests, from 0 to 1. */
  readonly duplicateRate: number
  readonly conflictRate: number
  readonly mismatchRate: number
}

export interface TenantRates extends Rates {
  readonly tenant: string
}

/** The rates of tenants: data for people, and no metric, whose labels would be as many as there are tenants. */
export interface RatesByTenant {
  /** What the rates are of: so long, and the part of the next window that has passed. */
  readonly windowMs: number
  /** Those that asked most, first; a bounded number. */
  readonly tenants: readonly TenantRates[]
  /** Of all tenants, also those that are not listed. */
  readonly all: Rates
}

/** Where requests are counted by tenant. */
export interface TenantCounting {
  ran(scope: string): void
  duplicate(scope: string): void
  conflict(scope: string): void
  mismatch(scope: string): void
}

export interface TenantWatch extends TenantCounting {
  rates(): RatesByTenant
  all(): Rates
}

export function tenantWatch(clock: Pick<Clock, 'elapsed'>): TenantWatch {
  const windowMs = telemetryBounds.rateWindowMs
  const known = new Map<string, Watched>()
  /** The same ones, to be walked around: where the hand stands, the next one to go is looked for. */
  const inOrder: Watched[] = []
  const everybody = new Watched('')
  let hand = 0

  const windowNow = () => Math.floor(clock.elapsed() / windowMs)

  function counts(scope: string): Watched {
    const tenant = tenantOf(scope as Scope)
    const found = known.get(tenant)
    if (found !== undefined) return found
    const made = new Watched(tenant)
    known.set(tenant, made)
    if (inOrder.length < telemetryBounds.tenants) inOrder.push(made)
    else replaceQuietest(made)
    return made
  }

  /** Of the next few, that one goes which asked least: one that asks much is hardly ever among the least of any. */
  function replaceQuietest(made: Watched): void {
    const window = windowNow()
    let at = hand
    for (let looked = 0; looked < telemetryBounds.tenantsLookedAt; looked++) {
      const next = (hand + looked) % inOrder.length
      if (requestsOf(inOrder[next] as Watched, window) < requestsOf(inOrder[at] as Watched, window)) at = next
    }
    hand = (hand + telemetryBounds.tenantsLookedAt) % inOrder.length
    known.delete((inOrder[at] as Watched).tenant)
    inOrder[at] = made
  }

  /** `what` is an index of the counts. */
  function count(scope: string, what: number): void {
    const window = windowNow()
    counts(scope).count(window, what)
    everybody.count(window, what)
  }

  return {
    ran: (scope) => count(scope, ran),
    duplicate: (scope) => count(scope, duplicate),
    conflict: (scope) => count(scope, conflict),
    mismatch: (scope) => count(scope, mismatch),
    all: () => ratesOf(everybody, windowNow()),
    rates() {
      const window = windowNow()
      const tenants = inOrder
        .map((watched) => ({ tenant: watched.tenant, ...ratesOf(watched, window) }))
        .filter(({ tenant, requests }) => requests > 0 && tenant !== adminTenant)
        .sort((a, b) => b.requests - a.requests)
      return { windowMs, tenants, all: ratesOf(everybody, window) }
    },
  }
}

/** What a request came to. */
const [ran, duplicate, conflict, mismatch] = [0, 1, 2, 3] as const
const kinds = 4

/** One tenant's counts: of this window, and of the one before. */
class Watched {
  readonly tenant: string
  #window = 0
  #now = new Array<number>(kinds).fill(0)
  #before = new Array<number>(kinds).fill(0)

  constructor(tenant: string) {
    this.tenant = tenant
  }

  count(window: number, what: number): void {
    if (window !== this.#window) this.#turn(window)
    this.#now[what] = (this.#now[what] as number) + 1
  }

  /** Changes nothing, so that reading one that is quiet does not make it look busy. */
  of(window: number, what: number): number {
    const now = this.#now[what] as number
    if (window === this.#window) return now + (this.#before[what] as number)
    return window === this.#window + 1 ? now : 0
  }

  #turn(window: number): void {
    const last = this.#before
    this.#before = window === this.#window + 1 ? this.#now : last.fill(0)
    this.#now = this.#before === last ? this.#now.fill(0) : last.fill(0)
    this.#window = window
  }
}

function requestsOf(watched: Watched, window: number): number {
  return (
    watched.of(window, ran) +
    watched.of(window, duplicate) +
    watched.of(window, conflict) +
    watched.of(window, mismatch)
  )
}

function ratesOf(watched: Watched, window: number): Rates {
  const requests = requestsOf(watched, window)
  const conflicts = watched.of(window, conflict)
  const duplicates = watched.of(window, duplicate) + conflicts
  const mismatches = watched.of(window, mismatch)
  const rate = (count: number) => (requests === 0 ? 0 : count / requests)
  return {
    requests,
    duplicates,
    conflicts,
    mismatches,
    duplicateRate: rate(duplicates),
    conflictRate: rate(conflicts),
    mismatchRate: rate(mismatches),
  }
}
