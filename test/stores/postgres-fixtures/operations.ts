import { type Claim, keyOf, type RecordName, type Reservation, type Store, type StoredRecord, scopeOf } from 'hapax'
import {
  checkpoint,
  claimed,
  completed,
  completion,
  doubted,
  failed,
  failure,
  leaseMs,
  reason,
  reservation,
  retentionMs,
  settlement,
  tombstoneMs,
} from '../../../dist/conformance/given.js'
import type { PostgresBench, WiredNode } from './bench.js'
import { noon } from './bench.js'

/** Every operation of the port, and the statements it takes. */
export interface Operation {
  readonly name: string
  /** The first word of each statement, in order. */
  readonly statements: readonly Word[]
  /** What must be there before. */
  readonly given: (store: Store<never>, bench: PostgresBench) => Promise<unknown>
  readonly run: <Tx>(node: WiredNode<Tx>) => Promise<unknown>
  /** The statement, counted from 1, with which a record changes for good. What never changes needs none. */
  readonly changes: Readonly<Record<string, number>>
  /** The statement with which the rows of the application become durable. */
  readonly rides?: number
}

export type Word = 'INSERT' | 'SELECT' | 'UPDATE' | 'WITH' | 'BEGIN' | 'SET' | 'COMMIT'

/** The record that most operations are about, and a second one. */
const scope = scopeOf('acme')
export const name: RecordName = { scope, key: keyOf('key-1') }
const other: RecordName = { scope, key: keyOf('key-2') }

/** Always the same, so that two runs leave the same record behind. */
export const claim: Claim = { ...name, generation: 1, fence: 1, claimId: 'claim-1' }
const mine: Partial<Reservation> = { ...name, claimId: claim.claimId }
const next: Partial<Reservation> = { ...name, claimId: 'claim-2' }

const onFirst = { 'key-1': 1 }
const onSecond = { 'key-1': 2 }
const onThird = { 'key-1': 3 }
const never = {}

/** `opening` is what a library says to begin a transaction. */
export function operations(opening: readonly Word[]): readonly Operation[] {
  const inTransaction = (...words: readonly Word[]) => {
    const statements: readonly Word[] = [...opening, 'INSERT', ...words, 'COMMIT']
    return { statements, changes: { 'key-1': statements.length }, rides: statements.length }
  }
  return [
    {
      name: 'reserve of a new key',
      statements: ['INSERT'],
      given: async () => {},
      run: ({ store }) => store.reserve(reservation(mine)),
      changes: onFirst,
    },
    {
      name: 'reserve of a key in progress',
      statements: ['INSERT', 'SELECT'],
      given: (store) => claimed(store, mine),
      run: ({ store }) => store.reserve(reservation(next)),
      changes: never,
    },
    {
      name: 'reserve of a key with an answer',
      statements: ['INSERT', 'SELECT'],
      given: (store) => completed(store, mine),
      run: ({ store }) => store.reserve(reservation(next)),
      changes: never,
    },
    {
      name: 'reserve of a key that may be resumed',
      statements: ['INSERT', 'SELECT', 'UPDATE'],
      given: (store) => failed(store, mine),
      run: ({ store }) => store.reserve(reservation(next)),
      changes: onThird,
    },
    {
      name: 'reserve of a key whose lease is over',
      statements: ['INSERT', 'SELECT', 'UPDATE'],
      given: async (store, bench) => {
        await claimed(store, mine)
        await bench.setTime(noon + leaseMs)
      },
      run: ({ store }) => store.reserve(reservation(next)),
      changes: onThird,
    },
    {
      name: 'reserve of an expired key',
      statements: ['INSERT', 'SELECT', 'UPDATE'],
      given: async (store, bench) => {
        await completed(store, mine)
        await bench.setTime(noon + retentionMs)
      },
      run: ({ store }) => store.reserve(reservation(next)),
      changes: onThird,
    },
    {
      name: 'renew',
      statements: ['UPDATE'],
      given: (store) => claimed(store, mine),
      run: ({ store }) => store.renew(claim, 2 * leaseMs),
      changes: onFirst,
    },
    {
      name: 'checkpoint',
      statements: ['SELECT', 'UPDATE'],
      given: (store) => claimed(store, mine),
      run: ({ store }) => store.checkpoint(claim, checkpoint),
      changes: onSecond,
    },
    {
      name: 'complete',
      statements: ['UPDATE'],
      given: (store) => claimed(store, mine),
      run: ({ store }) => store.complete(claim, completion()),
      changes: onFirst,
    },
    {
      name: 'complete by a claim that is stale',
      statements: ['UPDATE', 'SELECT'],
      given: async (store) => {
        await failed(store, mine)
        await claimed(store, next)
      },
      run: ({ store }) => store.complete(claim, completion()),
      changes: never,
    },
    {
      name: 'release of a key that was new',
      statements: ['SELECT', 'WITH'],
      given: (store) => claimed(store, mine),
      run: ({ store }) => store.release(claim),
      changes: onSecond,
    },
    {
      name: 'release of a later attempt',
      statements: ['SELECT', 'UPDATE'],
      given: async (store) => {
        await failed(store, { ...mine, claimId: 'claim-0' })
        await claimed(store, mine)
      },
      run: ({ store }) => store.release({ ...claim, fence: 2 }),
      changes: onSecond,
    },
    {
      name: 'fail',
      statements: ['SELECT', 'UPDATE'],
      given: (store) => claimed(store, mine),
      run: ({ store }) => store.fail(claim, failure),
      changes: onSecond,
    },
    {
      name: 'doubt',
      statements: ['SELECT', 'UPDATE'],
      given: (store) => claimed(store, mine),
      run: ({ store }) => store.doubt(claim, reason),
      changes: onSecond,
    },
    {
      name: 'settle as completed',
      statements: ['SELECT', 'UPDATE'],
      given: (store) => doubted(store, mine),
      run: ({ store }) => store.settle(name, settlement({ kind: 'completed', ...completion() })),
      changes: onSecond,
    },
    {
      name: 'settle as landed',
      statements: ['SELECT', 'UPDATE'],
      given: (store) => doubted(store, mine),
      run: ({ store }) => store.settle(name, settlement({ kind: 'landed', recoveryPoint: 'charged' })),
      changes: onSecond,
    },
    {
      name: 'settle as not landed',
      statements: ['SELECT', 'UPDATE'],
      given: (store) => doubted(store, mine),
      run: ({ store }) => store.settle(name, settlement({ kind: 'not_landed' })),
      changes: onSecond,
    },
    {
      name: 'sweep',
      statements: ['UPDATE'],
      given: async (store, bench) => {
        await claimed(store, mine)
        await bench.setTime(noon + leaseMs)
      },
      run: ({ store }) => store.sweep(10),
      changes: onFirst,
    },
    {
      name: 'abandon',
      statements: ['UPDATE'],
      given: async (store, bench) => {
        await claimed(store, { ...mine, onLeaseOver: 'resume' })
        await bench.setTime(noon + retentionMs)
      },
      run: ({ store }) => store.abandon({ operations: ['rides.create'], limit: 10 }),
      changes: onFirst,
    },
    {
      name: 'reap',
      statements: ['WITH', 'UPDATE'],
      given: async (store, bench) => {
        await completed(store, { ...mine, ...other })
        await bench.setTime(noon + retentionMs)
        await store.reap(10)
        await bench.setTime(noon + tombstoneMs)
        await completed(store, mine)
        await bench.setTime(noon + retentionMs + tombstoneMs)
      },
      run: ({ store }) => store.reap(10),
      changes: { 'key-2': 1, 'key-1': 2 },
    },
    {
      name: 'find',
      statements: ['SELECT'],
      given: (store) => completed(store, mine),
      run: ({ store }) => store.find(name),
      changes: never,
    },
    {
      name: 'list',
      statements: ['SELECT'],
      given: (store) => completed(store, mine),
      run: ({ store }) => store.list({ scope, state: 'completed', limit: 10 }),
      changes: never,
    },
    {
      name: 'transaction with a checkpoint',
      ...inTransaction('SELECT', 'UPDATE'),
      given: (store) => claimed(store, mine),
      run: ({ store, ride }) =>
        store.transaction(claim, async (tx) => {
          await ride(tx, 'one')
          return { value: 7, write: { kind: 'checkpoint', ...checkpoint } }
        }),
    },
    {
      name: 'transaction with an answer',
      ...inTransaction('UPDATE'),
      given: (store) => claimed(store, mine),
      run: ({ store, ride }) =>
        store.transaction(claim, async (tx) => {
          await ride(tx, 'one')
          return { value: 7, write: { kind: 'complete', ...completion() } }
        }),
    },
    {
      name: 'open',
      statements: ['SELECT', 'SELECT', 'SELECT', 'SELECT'],
      given: async () => {},
      run: ({ store }) => store.open(),
      changes: never,
    },
  ]
}

/** All there is, by key. The number of a record differs from run to run. */
export async function everything(store: Store<never>): Promise<Readonly<Record<string, StoredRecord>>> {
  const { records } = await store.list({ limit: 100 })
  return Object.fromEntries(records.map((record) => [record.key, { ...record, id: 0 }]))
}

/** An answer without the number of its record. */
export function comparable(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer ?? null, (key, value) => (key === 'id' ? 0 : value)))
}
