import type { ReapedTestimonies } from '../../../src/engine/call-store.js'
import type { StoredEffect } from '../../../src/engine/effect-store.js'
import { reapTestimony } from '../../../src/engine/reaped-testimony.js'
import type { StoredRecord } from '../../../src/engine/record.js'
import type { Line } from './line.js'
import { allSeen, put, seen } from './table.js'
import { dequeued } from './turns.js'

/** What hangs on records and effects, and goes with them. */

/** A record that is deleted takes its calls along, and its effects; and, if its time was over, what was said about them. */
export function forgetRecord({ database }: Line, { id }: StoredRecord, testimonies: 'stay' | 'go'): void {
  const { calls, effects } = database.tables
  const keys: string[] = []
  for (const { call, recordId } of allSeen(calls, undefined)) if (recordId === id) keys.push(call.key)
  for (const key of keys) put(calls, key, undefined, undefined)
  const gone = allSeen(effects, undefined).filter(({ recordId }) => recordId === id)
  for (const effect of gone) put(effects, effect.id, undefined, undefined)
  forgetEffects({ database }, gone)
  if (testimonies === 'go') forgetTestimonies({ database }, keys)
}

/** Their keys are free, and nobody asks what was said about them. */
export function forgetEffects({ database }: Pick<Line, 'database'>, gone: readonly StoredEffect[]): void {
  for (const effect of gone) {
    put(database.tables.effectKeys, effect.downstreamKey, undefined, undefined)
    dequeued({ database }, effect)
  }
  forgetTestimonies(
    { database },
    gone.map(({ downstreamKey }) => downstreamKey),
  )
}

/** What was said about nothing that is here goes in the end; the others are passed, and not looked at again. */
export function reapTestimonies({ database, now }: Line, limit: number, keepMs: number): ReapedTestimonies {
  const { testimonies, calls, effectKeys } = database.tables
  const isHere = (key: string) =>
    seen(calls, key, undefined) !== undefined || seen(effectKeys, key, undefined) !== undefined
  let [deleted, passed] = [0, 0]
  for (const [id, { committed: said }] of [...testimonies]) {
    const next = said && deleted + passed < limit ? reapTestimony(said, isHere, keepMs, now()) : undefined
    if (next === undefined) continue
    put(testimonies, id, next === 'deleted' ? undefined : next, undefined)
    if (next === 'deleted') deleted++
    else passed++
  }
  return { deleted, passed }
}

function forgetTestimonies({ database }: Pick<Line, 'database'>, keys: readonly string[]): void {
  const { testimonies } = database.tables
  for (const [id, { committed }] of [...testimonies])
    if (committed !== undefined && keys.includes(committed.downstreamKey)) put(testimonies, id, undefined, undefined)
}
