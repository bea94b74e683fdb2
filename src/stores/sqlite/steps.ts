import { auditStepsAt } from './audit/audit-steps.js'
import { callStepsAt } from './calls/call-steps.js'
import { effectStepsAt } from './effects/effect-steps.js'
import { inboxStepsAt } from './inbox/inbox-steps.js'
import type { Steps } from './protocol.js'
import { recordStepsAt } from './record-steps.js'
import type { Tables } from './tables.js'

/** Every step of the port, inside one transaction and at one instant. */
export function stepsAt(now: number, tables: Tables): Steps {
  return {
    ...recordStepsAt(now, tables),
    ...effectStepsAt(now, tables),
    ...callStepsAt(now, tables),
    ...inboxStepsAt(now, tables.events),
    ...auditStepsAt(now, tables),
  }
}
