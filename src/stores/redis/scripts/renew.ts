import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const renew = script(
  'renew',
  `--[=[ renew: moves the end of the lease.
  KEYS  the root; the record
  ARGV  generation fence claimId leaseMs
  gives 1; nil where the claim is stale
]=]`,
  given,
  records,
  `
local record = found(KEYS[2])
if not (isLastClaim(record) and record.state == 'in_progress') then return nil end
save(record, { leaseUntil = now + number('leaseMs') })
return 1
`,
)
