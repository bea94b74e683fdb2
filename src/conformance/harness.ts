import type { Store } from '../engine/store.js'

/**
 * What the suite must know about a store in order to judge it. Written once per store; the cases never mention a
 * database.
 *
 * @example
 * const harness: StoreHarness = {
 *   name: 'memory',
 *   lacks: {
 *     transactions: 'a map has no transactions',
 *     cut: 'a map has no connection',
 *     effects: 'nothing of an outbox in memory survives',
 *     inbox: 'nothing of an inbox in memory survives',
 *     single: 'a map has no transactions',
 *   },
 *   async fresh() {
 *     let now = 0
 *     const store = memoryStore({ clock: { ...systemClock, now: () => now } })
 *     return { open: async () => store, setTime: async (ms) => { now = ms }, dispose: async () => {} }
 *   },
 * }
 */
export interface StoreHarness<Tx = never> {
  readonly name: string
  /** What this store cannot do, each with the reason that its skipped cases will print. */
  readonly lacks: Partial<Readonly<Record<Capability, string>>>
  /** Empty data, for one case. */
  fresh(): Promise<StoreBench<Tx>>
}

/** What a store may lack and still be a store: the cases that need it are skipped aloud. */
export type Capability = 'transactions' | 'cut' | 'effects' | 'inbox' | 'single' | 'calls' | 'measure' | 'audit'

/** The data of one case, and the nodes that work on it. */
export interface StoreBench<Tx = never> {
  /** Another node (its own connection, pool or worker, where there is such a thing) on the same data, opened. */
  open(): Promise<Store<Tx>>
  /** Pins the clock by which the store judges leases and retention, for all nodes: milliseconds since 1970. */
  setTime(ms: number): Promise<void>
  /** Throws the data away. Every node has been closed by then. */
  dispose(): Promise<void>
  /** A table of the application in the same database. */
  readonly transactions?: BusinessRows<Tx>
  /** Cuts the node's connection: what is under way on it, or else its next operation, fails. */
  cut?(store: Store<Tx>): Promise<void>
}

/** Rows that have nothing to do with Hapax and must commit, or roll back, together with its record. */
export interface BusinessRows<Tx> {
  insert(tx: Tx, text: string): Promise<void>
  /** How many rows a reader outside of any transaction sees. */
  count(): Promise<number>
}
