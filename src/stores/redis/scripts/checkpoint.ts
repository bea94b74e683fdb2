import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const checkpoint = script(
  'checkpoint',
  `--[=[ checkpoint: records that a phase committed, and marks the call that begins or ends with it. Renews the lease.
  KEYS  the root; the record
  ARGV  generation fence claimId recoveryPoint onLeaseOver leaseMs [progress] [retentionMs, or 'forever']
        [callKind callKey [callPhase]]
  gives 1; nil where the claim is stale
]=]`,
  given,
  records,
  calls,
  `
local record = found(KEYS[2])
if not (isLastClaim(record) and record.state == 'in_progress') then return nil end
local changes = {
  leaseUntil = now + number('leaseMs'), recoveryPoint = given.recoveryPoint, onLeaseOver = given.onLeaseOver,
  progress = given.progress,
}
-- A key that was handed out begins no call: nobody tells whether it was sent.
if given.callKind and given.callPhase ~= 'started' then changes.isBegun = given.callKind == 'begun' and 1 or false end
if given.retentionMs then
  changes.retentionMs = number('retentionMs') or false
  changes.expiresAt = retained(changes.retentionMs)
end
mark(save(record, changes))
return 1
`,
)
