import { randomUUID } from 'node:crypto'
import type { Fingerprint } from '../../src/engine/fingerprint/fingerprint.js'
import { keyOf } from '../../src/engine/key.js'
import { scopeOf } from '../../src/engine/scope.js'
import type { Completion, Store } from '../../src/engine/store.js'
import type { Reservation } from '../../src/engine/verdict.js'

/** What was reached. pgbench tells no percentiles. */
export interface Load {
  readonly perSecond: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** Of pairs, that of the reservation alone. */
  readonly reserveP99Ms?: number
}

interface Wanted {
  readonly concurrency: number
  readonly seconds: number
  /** New keys, each reserved and completed; or replays of keys that are in stock. */
  readonly kind: 'pairs' | 'replays'
}

/** Enough keys that callers at one time rarely ask for the same one. */
const stockSize = 5_000

/** Puts the keys in stock that are replayed. */
export async function fillStock<Tx>(store: Store<Tx>): Promise<void> {
  const numbers = Array.from({ length: stockSize }, (_, number) => number)
  await Promise.all(numbers.map((number) => pair(store, reservation(`stock-${number}`))))
}

const scope = scopeOf('bench')

/** A payment's answer, of the usual size. */
export const body = Buffer.from(JSON.stringify({ id: 'pay_1', status: 'created', note: 'x'.repeat(160) }))

const completion: Completion = {
  answer: { kind: 'kept', status: 201, headers: [['content-type', 'application/json']], body },
  answerVersion: 1,
}

/** As many callers as asked for, each of whom asks again as soon as it was answered, until the time is up. */
export async function load<Tx>(store: Store<Tx>, { concurrency, seconds, kind }: Wanted): Promise<Load> {
  const run = randomUUID()
  const times: number[] = []
  const reserving: number[] = []
  const until = performance.now() + seconds * 1_000

  async function caller(number: number): Promise<void> {
    for (let turn = 0; performance.now() < until; turn++) {
      const startedAt = performance.now()
      if (kind === 'pairs') reserving.push(await pair(store, reservation(`${run}-${number}-${turn}`)))
      else await replay(store, reservation(`stock-${(number * 7_919 + turn * 104_729) % stockSize}`))
      times.push(performance.now() - startedAt)
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: concurrency }, (_, number) => caller(number)))
  const elapsedMs = performance.now() - startedAt
  const perSecond = (times.length / elapsedMs) * 1_000
  return { perSecond, p50Ms: at(times, 0.5), p99Ms: at(times, 0.99), reserveP99Ms: at(reserving, 0.99) }
}

function at(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? Number.NaN
}

/** Gives how long its reservation took. */
async function pair<Tx>(store: Store<Tx>, asked: Reservation): Promise<number> {
  const startedAt = performance.now()
  const verdict = await store.reserve(asked)
  const reservedMs = performance.now() - startedAt
  if (verdict.kind !== 'reserved') throw new Error(`a new key was ${verdict.kind}`)
  if ((await store.complete(verdict.claim, completion)) === false) throw new Error('a claim was lost')
  return reservedMs
}

async function replay<Tx>(store: Store<Tx>, known: Reservation): Promise<void> {
  const verdict = await store.reserve(known)
  if (verdict.kind !== 'completed') throw new Error(`a known key was ${verdict.kind}`)
}

function reservation(key: string): Reservation {
  return {
    scope,
    key: keyOf(key),
    claimId: key,
    operation: 'payments.create',
    fingerprints: ['sha256-v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' as Fingerprint],
    onLeaseOver: 'doubt',
    onExpired: 'run',
    onNew: 'take',
    leaseMs: 30_000,
    retentionMs: 86_400_000,
    tombstoneMs: 86_400_000,
  }
}
