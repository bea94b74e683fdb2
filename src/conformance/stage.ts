import assert from 'node:assert/strict'
import type { AuditStore } from '../engine/audit-store.js'
import type { CallStore } from '../engine/call-store.js'
import type { EffectStore } from '../engine/effect-store.js'
import type { InboxStore } from '../engine/inbox-store.js'
import type { Claim } from '../engine/record.js'
import type { Committed, Step, Store } from '../engine/store.js'
import type { Capability, StoreBench, StoreHarness } from './harness.js'

/** A store of which a case does not know what its transactions look like. */
export type AnyStore = Store<unknown>

/** What a case plays on: fresh data, a first node, more nodes when asked for, and the store's clock. */
export interface Stage {
  readonly store: AnyStore
  /** The store's time when the case begins. */
  readonly startedAt: number
  /** Moves the store's clock to this many milliseconds after the beginning. */
  at(ms: number): Promise<void>
  /** Another node on the same data. */
  open(): Promise<AnyStore>
  cut(store: AnyStore): Promise<void>
  /** A transaction of the store in which business rows can be inserted. */
  transaction<T>(store: AnyStore, claim: Claim, body: (insert: Insert) => Promise<Step<T>>): Promise<Committed<T>>
  /** Inserts a business row in a transaction that a store handed out. */
  insert(tx: unknown, text: string): Promise<void>
  countRows(): Promise<number>
  effects(store: AnyStore): EffectStore<unknown>
  inbox(store: AnyStore): InboxStore<unknown>
  calls(store: AnyStore): CallStore
  audit(store: AnyStore): AuditStore
  single(store: AnyStore): NonNullable<AnyStore['single']>
  measure(store: AnyStore): NonNullable<AnyStore['measure']>
  reapable(store: AnyStore): NonNullable<AnyStore['reapable']>
}

export type Insert = (text: string) => Promise<void>

/** What a case must show. It passes by returning and fails by throwing. */
export type Show = (stage: Stage) => Promise<void>

/** Some whole second, far from any real time, so that a store which reads another clock is found out. */
const startedAt = Date.UTC(2040, 1, 29, 12)

/** Sets the stage, plays, and clears it, whatever happened. */
export async function play<Tx>(harness: StoreHarness<Tx>, show: Show): Promise<void> {
  const bench = await harness.fresh()
  const nodes = new Set<Store<Tx>>()
  try {
    await bench.setTime(startedAt)
    await show(await stageOf(harness, bench, nodes))
  } finally {
    for (const node of nodes) await node.close()
    await bench.dispose()
  }
}

async function stageOf<Tx>(harness: StoreHarness<Tx>, bench: StoreBench<Tx>, nodes: Set<Store<Tx>>): Promise<Stage> {
  const open = async () => {
    const node = await bench.open()
    nodes.add(node)
    return node
  }
  const nodeOf = (store: AnyStore) =>
    offered(
      [...nodes].find((node) => node === store),
      'the node was opened here',
    )
  const rows = () => offered(bench.transactions, missing(harness, 'transactions'))

  return {
    store: await open(),
    startedAt,
    open,
    at: (ms) => bench.setTime(startedAt + ms),
    async cut(store) {
      assert.ok(bench.cut, missing(harness, 'cut'))
      await bench.cut(nodeOf(store))
    },
    async transaction(store, claim, body) {
      const { insert } = rows()
      const transaction = offered(nodeOf(store).transaction, missing(harness, 'transactions'))
      return transaction(claim, (tx) => body((text) => insert(tx, text)))
    },
    // Whoever hands it back was handed it by this store.
    insert: (tx, text) => rows().insert(tx as Tx, text),
    countRows: () => rows().count(),
    effects: (store) => offered(store.effects, missing(harness, 'effects')),
    inbox: (store) => offered(store.inbox, missing(harness, 'inbox')),
    calls: (store) => offered(store.calls, missing(harness, 'calls')),
    audit: (store) => offered(store.audit, missing(harness, 'audit')),
    single: (store) => offered(store.single, missing(harness, 'single')),
    measure: (store) => offered(store.measure, missing(harness, 'measure')),
    // Who counts the one counts the other.
    reapable: (store) => offered(store.reapable, missing(harness, 'measure')),
  }
}

function offered<T>(value: T | undefined, promise: string): T {
  assert.ok(value !== undefined, promise)
  return value
}

function missing(harness: { readonly name: string }, capability: Capability): string {
  return `The harness of ${harness.name} neither offers "${capability}" nor says under "lacks" why not.`
}
