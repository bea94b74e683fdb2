import { postpone as postponeEffect } from '../../../engine/effect-transitions.js'
import type { Testimony } from '../../../engine/inbox-store.js'
import { postpone } from '../../../engine/transitions.js'
import type { Tables } from '../tables.js'

/** Keeps what somebody said. A doubt about it is due from then on: whoever would have acted on it at once may be gone. */
export function testified(now: number, { records, effects, calls }: Tables, testimony: Testimony): void {
  const { downstreamKey } = testimony
  calls.testify(testimony, now)
  const found = calls.find(downstreamKey)
  const record = found && records.findById(found.recordId)
  if (record?.state === 'unknown') {
    const { generation, looks } = record
    const due = postpone(record, { generation, looks, afterMs: 0 }, now)
    if (due !== undefined) records.write(record, due)
  }
  const effect = effects.findByKey(downstreamKey)
  const due = effect && postponeEffect(effect, effect, { looks: effect.looks, afterMs: 0 }, now)
  if (effect !== undefined && due !== undefined) effects.write(effect, due)
}
