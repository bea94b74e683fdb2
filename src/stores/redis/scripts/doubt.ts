import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const doubt = script(
  'doubt',
  `--[=[ doubt: says that nobody can know what happened.
  KEYS  the root; the record
  ARGV  generation fence claimId errorCode reconcileAfterMs
  gives 1; nil where the claim is stale
]=]`,
  given,
  records,
  `
local record = found(KEYS[2])
if not isLastClaim(record) then return nil end
if record.state == 'unknown' then return 1 end
if record.state ~= 'in_progress' then return nil end
save(record, doubted(now + number('reconcileAfterMs'), given.errorCode))
return 1
`,
)
