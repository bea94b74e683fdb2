import type { SqlValue } from '../../sql/row.js'

/** How one says a statement on a transaction. Whose it is is known by its shape, and nothing of it is imported. */
export interface Speaker<Tx extends object = object> {
  /** As its users call it. */
  readonly name: string
  isTransaction(given: object): given is Tx
  /** One statement with `$1`, `$2` … and the rows that it gives, as they are handed out. */
  say(tx: Tx, text: string, values: SqlValue[]): Promise<readonly unknown[]>
  /** The same transaction for somebody who may send only for a while: what he sends later is refused. The owner goes on. */
  sealed(tx: Tx, maySend: () => boolean): Tx
}

/** A query builder or an ORM, as far as we need it: it opens transactions too. */
export interface Tool<Handle extends object = object, Tx extends object = object> extends Speaker<Tx> {
  isHandle(given: object): given is Handle
  /** Commits when `body` resolves, and rolls back when it throws. READ COMMITTED, whatever the role's default is. */
  begin<T>(handle: Handle, body: (tx: Tx) => Promise<T>): Promise<T>
}

/** The first statement of a transaction, for tools that cannot say it otherwise. */
export const readCommitted = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

/** Whether what was handed in has these functions. */
export function has(given: object, ...names: readonly string[]): boolean {
  return names.every((name) => typeof (given as Record<string, unknown>)[name] === 'function')
}
