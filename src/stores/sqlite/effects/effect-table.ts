import { type EffectQuery, isFinal, type NewEffect, type StoredEffect } from '../../../engine/effect-store.js'
import { written } from '../../../engine/effect-transitions.js'
import type { StoredRecord } from '../../../engine/record.js'
import { invariant } from '../../../kernel/errors.js'
import type { SqlValue } from '../../sql/row.js'
import type { Connection } from '../connection.js'
import { statementsOn } from '../statements.js'
import { effectQueries as queries } from './effect-queries.js'
import { type EffectRow, effectOf, intentColumns, orderingOf, stateColumns } from './effect-row.js'

/** The outbox: what shall happen, and how far it is. */
export interface EffectTable {
  /** Writes the effects of a phase, with the record that the phase belongs to. */
  insert(record: StoredRecord, effects: readonly NewEffect[], now: number): void
  find(id: number): StoredEffect | undefined
  findByKey(downstreamKey: string): StoredEffect | undefined
  /** Writes what differs from the effect as it was read. One that becomes final makes the next of its order. */
  write(current: StoredEffect, next: StoredEffect): void
  /** Those that may be carried out, and whose turn it is in their order; of these ids, whether they are due or not. */
  claimable(
    kinds: readonly string[],
    ids: readonly number[] | undefined,
    now: number,
    limit: number,
  ): readonly StoredEffect[]
  /** Those whose lease is over and whose call had begun. */
  overdue(now: number, limit: number): readonly StoredEffect[]
  doubts(kinds: readonly string[], now: number, limit: number): readonly StoredEffect[]
  list(query: EffectQuery): readonly StoredEffect[]
  /** Those that were done after that place. */
  done(finishedAt: number, id: number, limit: number): readonly StoredEffect[]
  named(downstreamKeys: readonly string[]): readonly StoredEffect[]
  /** Deletes those that have been final since `until` or longer, and gives the keys that they carried. */
  removeFinal(until: number, limit: number): readonly string[]
  /** Whether some of a record's are not final. */
  hasOpen(recordId: number): boolean
  /** Deletes those of a record, and gives the keys that they carried. */
  removeOf(recordId: number): readonly string[]
}

export function effectTable(connection: Connection): EffectTable {
  const statement = statementsOn<EffectRow>(connection)
  const one = (sql: string, value: SqlValue) => {
    const row = statement(sql).get([value])
    return row && effectOf(row)
  }
  const all = (sql: string, parameters: readonly unknown[]) => statement(sql).all(parameters).map(effectOf)

  const removed = (found: readonly { readonly id: number }[]) =>
    found.flatMap(({ id }) => {
      statement(queries.removeState).run([id])
      return statement(queries.removeIntent).get([id])?.downstream_key ?? []
    })

  return {
    insert(record, effects, now) {
      for (const effect of effects) {
        // The database numbers it.
        const fresh = written(effect, record, now, 0)
        const row = statement(queries.insertIntent).get(valuesOf(intentColumns, fresh))
        invariant(row, 'an insert gives the id of its row')
        const { recordId, kind } = fresh
        const state = valuesOf(stateColumns, fresh)
        const ordering = orderingOf(fresh)
        statement(queries.insertState).run([row.id, recordId, kind, ordering, ...state, ordering])
      }
    },
    find: (id) => one(queries.find, id),
    findByKey: (downstreamKey) => one(queries.findByKey, downstreamKey),
    write(current, next) {
      const changed = Object.entries(stateColumns).filter(([, read]) => read(current) !== read(next))
      if (changed.length === 0) return
      const names = changed.map(([name]) => name)
      statement(queries.update(names)).run([...changed.map(([, read]) => read(next)), next.id])
      if (next.order !== undefined && isFinal(next.state)) statement(queries.tell).run([orderingOf(next)])
    },
    claimable(kinds, ids, now, limit) {
      const list = JSON.stringify(kinds)
      if (ids !== undefined) return all(queries.named, [JSON.stringify(ids), list, now, limit])
      return all(queries.claimable, [now, list, now, list, limit])
    },
    overdue: (now, limit) => all(queries.overdue, [now, limit]),
    doubts: (kinds, now, limit) => all(queries.doubts, [now, JSON.stringify(kinds), limit]),
    list(query) {
      const { text, values } = queries.list(query)
      return all(text, values)
    },
    done: (finishedAt, id, limit) => all(queries.done, [finishedAt, id, limit]),
    named: (downstreamKeys) => all(queries.withKeys, [JSON.stringify(downstreamKeys)]),
    removeFinal: (until, limit) => removed(statement(queries.final).all([until, limit])),
    hasOpen: (recordId) => statement(queries.open).get([recordId]) !== undefined,
    removeOf: (recordId) => removed(statement(queries.of).all([recordId])),
  }
}

function valuesOf(
  columns: Readonly<Record<string, (effect: Omit<StoredEffect, 'id'>) => SqlValue>>,
  effect: Omit<StoredEffect, 'id'>,
): readonly SqlValue[] {
  return Object.values(columns).map((read) => read(effect))
}
