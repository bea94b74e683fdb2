import { type Session, saying, type Undoable } from './connections.js'

/** The savepoint of our own behind which the application writes its rows. */
export const rowsSavepoint = 'hapax_rows'

/** By plain statements, as most libraries take them. The savepoint goes with the transaction, or with one around it. */
export function bySavepoint<Tx>(tx: Tx, query: Session<Tx>['query'], name: string): Undoable<Tx> {
  return behind(undoneTo(tx, query, name), query, name)
}

/** Where the savepoint of that name is there. */
export function undoneTo<Tx>(tx: Tx, query: Session<Tx>['query'], name: string): Undoable<Tx> {
  const undo = () => said(query, `ROLLBACK TO SAVEPOINT ${name}`)
  return async (body, isUndone) => {
    const value = await body(tx).catch(async (error: unknown) => {
      // Where the connection is lost there is nothing to undo, and what was thrown first says why.
      await undo().catch(() => undefined)
      throw error
    })
    if (isUndone(value)) await undo()
    return value
  }
}

/**
 * The same for a transaction that goes on: the savepoint of that name, and all within it, is released at the end. A server has
 * to look at each that is left wherever it looks at rows.
 */
export function released<Tx>(undoable: Undoable<Tx>, query: Session<Tx>['query'], name: string): Undoable<Tx> {
  const release = () => said(query, `RELEASE SAVEPOINT ${name}`)
  return async (body, isUndone) => {
    const value = await undoable(body, isUndone).catch(async (error: unknown) => {
      // Where that fails the transaction is lost anyway, and what was thrown first says why.
      await release().catch(() => undefined)
      throw error
    })
    await release()
    return value
  }
}

/** Behind a savepoint of a name that we know. */
export function behind<Tx>(undoable: Undoable<Tx>, query: Session<Tx>['query'], name: string): Undoable<Tx> {
  return async (body, isUndone) => {
    await said(query, opens(name))
    return undoable(body, isUndone)
  }
}

/** A transaction of postgres.js that can hold another one. */
export interface Nesting {
  savepoint(body: (inner: never) => Promise<unknown>): Promise<unknown>
}

/**
 * postgres.js lets no transaction commit in which a statement failed, however often it was undone by hand: it must open the
 * savepoint itself. `mayUndo` waits until the library may be asked to.
 */
export function byNesting<Tx>(outer: Nesting, mayUndo: () => Promise<void> = async () => {}): Undoable<Tx> {
  return async <T>(body: (tx: Tx) => Promise<T>, isUndone: (value: T) => boolean) => {
    const undone = new Error('undone')
    let said: { readonly value: T } | undefined
    const nested = outer.savepoint(async (inner) => {
      try {
        said = { value: await body(inner) }
        if (isUndone(said.value)) throw undone
      } catch (error) {
        await mayUndo()
        throw error
      }
    })
    await nested.catch((error: unknown) => {
      if (error !== undone) throw error
    })
    return (said as { readonly value: T }).value
  }
}

/** How a savepoint is opened. */
export function opens(savepoint: string): string {
  return `SAVEPOINT ${savepoint}`
}

async function said(query: Session<unknown>['query'], text: string): Promise<void> {
  const asked = saying(text)
  await query(asked.query, asked.values)
}
