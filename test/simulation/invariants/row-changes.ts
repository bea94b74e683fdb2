import type { Table } from '../database/cells.js'

/** What a committed change made of a row: `undefined` where there was none, or is none any more. */
export interface Change<V> {
  readonly before: V | undefined
  readonly after: V | undefined
}

/** Gives what has been committed since it was last asked. Each write makes another row, so that the rows tell. */
export function rowChanges<K, V>(table: Table<K, V>): () => readonly Change<V>[] {
  const last = new Map<K, V>()
  return () => {
    const changes: Change<V>[] = []
    let known = 0
    for (const [key, { committed: after }] of table) {
      if (after !== undefined) known++
      const before = last.get(key)
      if (before === after) continue
      changes.push({ before, after })
      if (after === undefined) last.delete(key)
      else last.set(key, after)
    }
    // Asked at every step: only if one is gone is it worth to look which.
    if (last.size === known) return changes
    for (const [key, before] of last) {
      if (table.has(key)) continue
      changes.push({ before, after: undefined })
      last.delete(key)
    }
    return changes
  }
}
