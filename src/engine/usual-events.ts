import type { Detail, Events } from '../kernel/events.js'
import { digestHex } from './digest.js'
import type { Guarded } from './guarded.js'

/**
 * The events that nearly every request tells, each written out: where somebody counts, to spread a subject into them would
 * cost a request more than all of the counting.
 */

export function reservedEvent<Tx>(
  guarded: Guarded<Tx>,
  { generation, fence }: { readonly generation: number; readonly fence: number },
  detail: Detail,
): Events['reserved'] {
  const { scope, policy } = guarded
  return { scope, record: recordTold(guarded, detail), operation: policy.name, generation, fence }
}

export function completedEvent<Tx>(
  guarded: Guarded<Tx>,
  { status, bytes, runMs }: Pick<Events['completed'], 'status' | 'bytes' | 'runMs'>,
  detail: Detail,
): Events['completed'] {
  const { scope, policy } = guarded
  return { scope, record: recordTold(guarded, detail), operation: policy.name, status, bytes, runMs }
}

export function replayedEvent<Tx>(
  guarded: Guarded<Tx>,
  from: Events['replayed']['from'],
  detail: Detail,
): Events['replayed'] {
  const { scope, policy } = guarded
  return { scope, record: recordTold(guarded, detail), operation: policy.name, from }
}

/** Which record it is about, for those who want to know. */
function recordTold<Tx>({ scope, key }: Guarded<Tx>, detail: Detail): string {
  return detail === 'whole' ? digestHex({ scope, key }) : ''
}
