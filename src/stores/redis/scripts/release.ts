import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const release = script(
  'release',
  `--[=[ release: gives the key back as it was found; only one that was never used before is forgotten.
  KEYS  the root; the record
  ARGV  generation fence claimId
  gives 1; nil where the claim is stale, or something has run
]=]`,
  given,
  records,
  calls,
  `
local record = found(KEYS[2])
if not (isLastClaim(record) and record.state == 'in_progress' and nothingCommitted(record)) then return nil end
if record.attempt > 1 then
  save(record, idle('failed_retryable', {}))
elseif record.generation > 1 then
  save(record, idle('expired', {}))
else
  remove(record)
  forget(record, 'stay')
end
return 1
`,
)
