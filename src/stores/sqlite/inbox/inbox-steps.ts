import { boundedLimit } from '../../../engine/limit.js'
import { limits } from '../../../kernel/limits.js'
import type { InboxSteps } from '../protocol.js'
import type { EventTable } from './event-table.js'

/** The steps on events that are no part of a transaction that is held. */
export function inboxStepsAt(now: number, events: EventTable): InboxSteps {
  return { 'inbox.reap': (limit, keepMs) => events.removeOld(now - keepMs, boundedLimit(limit, limits.batch)) }
}
