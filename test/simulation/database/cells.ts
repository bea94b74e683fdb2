/**
 * A table at READ COMMITTED. A row that a transaction has written is locked by it, and so there is at most one version of it
 * that is not committed, which only that transaction sees.
 */
export type Table<K, V> = Map<K, Cell<V>>

export interface Cell<V> {
  committed: V | undefined
  holder: Transaction | undefined
  /** What the holder sees. */
  pending: V | undefined
}

/** One transaction of the simulated server. */
export interface Transaction {
  /** As a record says in which transaction it was written. */
  readonly id: string
  /** The application may send while it is open, and the store until it is over. */
  stage: 'open' | 'sealed' | 'over'
  /** A statement was refused: whatever follows is, too, until something is undone. */
  isFailed: boolean
  /** Its line broke, and the server does not know yet: its COMMIT is on its way, or a statement waits. */
  isAdrift: boolean
  /** What it locked and wrote, in order. */
  readonly log: Change[]
  /** The place in the log of the savepoint that it stands behind. */
  savepoint: number
  /** Whom each of its statements waits for. They run one after another, as they were sent. */
  readonly statements: (WaitsFor | undefined)[]
  /** How many of them have run. */
  done: number
  /** Called when its line broke. */
  lose: (error: unknown) => void
  onEnd(): void
}

/** Another transaction that is in the way now. */
export type WaitsFor = () => Transaction | undefined

interface Change {
  readonly table: Table<unknown, unknown>
  readonly key: unknown
  readonly cell: Cell<unknown>
  readonly before: unknown
  readonly wasHeld: boolean
}
