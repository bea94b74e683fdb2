import type { FencedWrite } from '../database/database.js'
import { demand } from '../violation.js'

/**
 * A stale fence changes nothing: whoever writes under a claim has the last one that was given. And whoever has that may answer,
 * also when somebody has doubted that he lives: he was only slow.
 */
export function judgeFence(write: FencedWrite): void {
  if (write.of === 'effect') {
    const { claim, before } = write
    demand(before?.fence === claim.fence, () => `a stale claim (${claim.fence}) changed effect ${claim.id}`)
    return
  }
  // Who asks for a key has no fence yet.
  if (write.of === 'reservation') return
  const { claim, before } = write
  const isLast =
    before?.fence === claim.fence && before.claimId === claim.claimId && before.generation === claim.generation
  if (write.of === 'refusal') {
    const isOpen = before?.state === 'in_progress' || before?.state === 'unknown'
    demand(!isLast || !isOpen, () => `the last holder of ${claim.scope}/${claim.key} was not let answer it`)
    return
  }
  demand(isLast, () => `a stale claim (${claim.fence}, now ${before?.fence}) changed ${claim.scope}/${claim.key}`)
}
