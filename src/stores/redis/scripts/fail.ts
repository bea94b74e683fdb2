import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const fail = script(
  'fail',
  `--[=[ fail: lets the next request run again, from the recovery point.
  KEYS  the root; the record
  ARGV  generation fence claimId errorCode [resumeAfterMs]
  gives 1; nil where the claim is stale
]=]`,
  given,
  records,
  `
local record = found(KEYS[2])
if not isLastClaim(record) then return nil end
if record.state == 'failed_retryable' then return 1 end
if record.state ~= 'in_progress' then return nil end
save(record, idle('failed_retryable', {
  errorCode = given.errorCode, expiresAt = retained(record.retentionMs),
  reconcileAfter = given.resumeAfterMs and now + number('resumeAfterMs'),
}))
return 1
`,
)
