import { demand } from '../violation.js'
import { nameOf, type RecordChange } from './records.js'

/**
 * Where statements are shared nobody can say whose task wrote a row. But what is under way, and stays so under its claim, is
 * changed by nobody but whoever holds it.
 */
export function judgeHolder(change: RecordChange, isHolders: () => boolean): void {
  const { before, after } = change
  if (before?.state !== 'in_progress' || after?.state !== 'in_progress' || after.fence > before.fence) return
  // A phase is committed long after it was written under its claim.
  if (after.recoveryPoint !== before.recoveryPoint) return
  demand(isHolders(), () => `${nameOf(change)} was changed while it was under way, and not by its holder`)
}
