import type { CallMark } from '../../../src/engine/call-store.js'
import { isFinal } from '../../../src/engine/effect-store.js'
import { postpone as postponeEffect } from '../../../src/engine/effect-transitions.js'
import type { Testimony } from '../../../src/engine/inbox-store.js'
import { marked } from '../../../src/engine/marked-call.js'
import type { StoredRecord } from '../../../src/engine/record.js'
import { postpone } from '../../../src/engine/transitions.js'
import { addressOf } from './database.js'
import type { Line } from './line.js'
import { type By, holderOf, put, seen } from './table.js'
import { type Deed, together, updateLocked } from './update.js'

/** What is written of calls together with something else. */

/** Marks a call with the record that made it. */
export function marking({ database, now }: Line, mark: CallMark | undefined, by: By) {
  const { calls } = database.tables
  return {
    waitsFor: () => (mark === undefined ? undefined : holderOf(calls, mark.key, by)),
    run(record: StoredRecord) {
      if (mark === undefined) return
      const next = marked(seen(calls, mark.key, by), record, mark, now(), () => database.newId('call'))
      if (next !== undefined) put(calls, mark.key, next, by)
    },
  }
}

/**
 * Keeps what was said. A doubt about it is due from then on: whoever would have acted on it at once may be gone. What is open is
 * locked until this is on record: whoever doubts it, or leaves the doubt to people, knows of this by then.
 */
export function testifying(line: Line, testimonies: readonly Testimony[], by: By): Deed<void> {
  const { database, now } = line
  const dues = () => together(testimonies.flatMap(({ downstreamKey }) => dueNow(line, downstreamKey, by)))
  return {
    waitsFor: () => dues().waitsFor(),
    run() {
      dues().run()
      for (const testimony of testimonies)
        put(database.tables.testimonies, database.newId('testimony'), { ...testimony, at: now() }, by)
    },
  }
}

function dueNow({ database, now }: Line, downstreamKey: string, by: By): readonly Deed<unknown>[] {
  const { records, calls, effects, effectKeys } = database.tables
  const deeds: Deed<unknown>[] = []
  const call = seen(calls, downstreamKey, by)
  if (call !== undefined)
    deeds.push(
      updateLocked(records, addressOf(call.name), by, {
        isAskedFor: ({ record }) => record.id === call.recordId && isOpen(record),
        to({ record }) {
          const { generation, looks } = record
          const due = postpone(record, { generation, looks, afterMs: 0, state: 'unknown' }, now())
          return due && { record: due, committedIn: by?.id, judgedAt: now() }
        },
      }),
    )
  const id = seen(effectKeys, downstreamKey, by)
  if (id !== undefined)
    deeds.push(
      updateLocked(effects, id, by, {
        isAskedFor: ({ state }) => !isFinal(state),
        to: (effect) => postponeEffect(effect, effect, { looks: effect.looks, afterMs: 0 }, now()),
      }),
    )
  return deeds
}

function isOpen({ state }: StoredRecord): boolean {
  return state !== 'completed' && state !== 'expired'
}
