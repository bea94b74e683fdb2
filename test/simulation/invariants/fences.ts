import type { FencedWrite } from '../database/database.js'
import { demand } from '../violation.js'

/**
 * A stale fence changes nothing: whoever writes under a claim has the last one that was given. And whoever is told that he has
 * renewed it holds it for as long.
 */
export function judgeFence(write: FencedWrite): void {
  if (write.of === 'effect') {
    const { claim, before } = write
    demand(before?.fence === claim.fence, () => `a stale claim (${claim.fence}) changed effect ${claim.id}`)
    return
  }
  if (write.of === 'lease') {
    const { after, until } = write
    demand(
      (after.leaseUntil ?? 0) >= until,
      () => `${after.scope}/${after.key} was renewed, and its lease is as it was`,
    )
    return
  }
  const { claim, before } = write
  const isLast =
    before?.fence === claim.fence && before.claimId === claim.claimId && before.generation === claim.generation
  demand(isLast, () => `a stale claim (${claim.fence}, now ${before?.fence}) changed ${claim.scope}/${claim.key}`)
}
