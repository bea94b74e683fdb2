import { leaseOver } from '../../../src/engine/transitions.js'
import { operations, subjectOf } from '../application.js'
import type { Ask } from '../provider.js'
import { demand } from '../violation.js'
import type { RecordChange } from './records.js'

/** Who may run again after a crash is run again by his client, or goes on where no call is open: nobody doubts him for it. */
export function judgeSwept({ before, after }: RecordChange): void {
  if (before?.state !== 'in_progress' || after?.state !== 'unknown') return
  if (after.operation !== 'deposits' && (before.isBegun || !operations.has(after.operation))) return
  const name = `${after.scope}/${after.key}`
  demand(after.errorCode !== leaseOver, () => `${name} is in doubt after a crash, although it may simply run again`)
}

/**
 * Nobody is left in doubt about nothing: where every process lives and hears in time, a reservation whose reply was lost is
 * given back, and only what a provider was asked for can be unknown.
 */
export function judgeDoubt({ before, after }: RecordChange, asks: readonly Ask[]): void {
  if (before?.state !== 'in_progress' || after?.state !== 'unknown' || after.operation !== 'plain') return
  const subject = subjectOf({ tenant: after.scope, key: after.key }, after.generation)
  const isAsked = asks.some((ask) => ask.subject === subject)
  demand(isAsked, () => `${subject} is in doubt, although nobody was asked for anything`)
}
