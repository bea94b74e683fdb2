import type { Table } from './cells.js'
import type { Statement } from './line.js'
import { type By, held, holderOf, put, seen } from './table.js'

/** What a statement does, without its words. */
export type Deed<T> = Required<Pick<Statement<T>, 'waitsFor' | 'run'>> & Pick<Statement<T>, 'saw'>

/**
 * An UPDATE of one row by its key. It waits for the row's lock only if it would change the row as it is committed, and then
 * judges the row as it is by then. What stays as it is, is neither waited for nor written.
 */
export function update<K, V>(
  table: Table<K, V>,
  key: K,
  by: By,
  to: (current: V) => V | undefined,
): Deed<V | undefined> {
  return {
    waitsFor() {
      const holder = holderOf(table, key, by)
      if (holder === undefined) return undefined
      const current = seen(table, key, by)
      const next = current && to(current)
      return next === undefined || next === current ? undefined : holder
    },
    run() {
      const current = seen(table, key, by)
      const next = current && to(current)
      if (next !== undefined && next !== current) put(table, key, next, by)
      return next
    },
  }
}

/**
 * The same, and keeps the row's lock until the transaction ends, also where it does not change the row: `SELECT … FOR UPDATE`,
 * and then an UPDATE of what that gave. What is not asked for is neither waited for nor locked.
 */
export function updateLocked<K, V>(
  table: Table<K, V>,
  key: K,
  by: By,
  { isAskedFor, to }: { readonly isAskedFor: (current: V) => boolean; readonly to: (current: V) => V | undefined },
): Deed<V | undefined> {
  const found = () => {
    const current = seen(table, key, by)
    return current !== undefined && isAskedFor(current) ? current : undefined
  }
  return {
    waitsFor: () => (found() === undefined ? undefined : holderOf(table, key, by)),
    run() {
      const current = found()
      if (current === undefined) return undefined
      if (by !== undefined) held(table, key, by)
      const next = to(current)
      if (next !== undefined) put(table, key, next, by)
      return next
    },
  }
}

/** Several in one statement. */
export function together<T>(deeds: readonly Deed<T>[]): Deed<readonly T[]> {
  return {
    waitsFor() {
      for (const { waitsFor } of deeds) {
        const blocker = waitsFor()
        if (blocker !== undefined) return blocker
      }
      return undefined
    },
    run: () => deeds.map(({ run }) => run()),
  }
}

/** How a batch picks rows, and what it makes of them: those with the least `at` first. */
export interface Batch<V> {
  readonly to: (current: V) => V | 'deleted' | undefined
  readonly at: (current: V) => number
  readonly limit: number
}

/** An UPDATE, or DELETE, of up to `limit` rows that skips what is locked. Gives them as they are now, or were. */
export function updateFree<K, V>(table: Table<K, V>, { to, at, limit }: Batch<V>): readonly V[] {
  const found: { readonly key: K; readonly at: number; readonly current: V; readonly next: V | 'deleted' }[] = []
  for (const [key, { committed: current, holder }] of table) {
    if (current === undefined || holder !== undefined) continue
    const next = to(current)
    if (next !== undefined) found.push({ key, at: at(current), current, next })
  }
  found.sort((a, b) => a.at - b.at)
  return found.slice(0, limit).map(({ key, current, next }) => {
    put(table, key, next === 'deleted' ? undefined : next, undefined)
    return next === 'deleted' ? current : next
  })
}
