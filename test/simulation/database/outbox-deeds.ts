import type { NewEffect } from '../../../src/engine/effect-store.js'
import { written } from '../../../src/engine/effect-transitions.js'
import type { StoredRecord } from '../../../src/engine/record.js'
import type { Scope } from '../../../src/engine/scope.js'
import type { Transaction } from './cells.js'
import type { Line } from './line.js'
import { serverError } from './server-error.js'
import { held, holderOf, put, seen, writerOf } from './table.js'
import { queued } from './turns.js'

/**
 * Writes effects in a transaction, with the record that they belong to. Whoever writes to the same order waits for the one
 * before, so that ids of an order rise as they become visible.
 */
export function inserting(line: Line, scope: Scope, given: readonly NewEffect[], by: Transaction) {
  const { database, now } = line
  const { effects, effectKeys, orderLocks } = database.tables
  const wanted = given.map((effect) => ({ ...effect, payload: Buffer.from(effect.payload) }))
  const orders = wanted.flatMap(({ order }) => (order === undefined ? [] : [`${scope}\n${order}`]))
  return {
    waitsFor(): Transaction | undefined {
      for (const order of orders) {
        const holder = holderOf(orderLocks, order, by)
        if (holder !== undefined) return holder
      }
      for (const { downstreamKey } of wanted) {
        const holder = writerOf(effectKeys, downstreamKey, by)
        if (holder !== undefined) return holder
      }
      return undefined
    },
    run(record: StoredRecord): void {
      for (const order of orders) held(orderLocks, order, by)
      for (const effect of wanted) {
        if (seen(effectKeys, effect.downstreamKey, by) !== undefined) throw serverError('23505')
        const id = database.newId('effect')
        put(effectKeys, effect.downstreamKey, id, by)
        const row = written(effect, record, now(), id)
        put(effects, id, row, by)
        queued(line, row, by)
      }
    },
  }
}
