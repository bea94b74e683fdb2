import { effectStepsAt } from './effects/effect-steps.js'
import type { Steps } from './protocol.js'
import { recordStepsAt } from './record-steps.js'
import type { Tables } from './tables.js'

/** Every step of the port, inside one transaction and at one instant. */
export function stepsAt(now: number, { records, effects }: Tables): Steps {
  return { ...recordStepsAt(now, records), ...effectStepsAt(now, effects) }
}
