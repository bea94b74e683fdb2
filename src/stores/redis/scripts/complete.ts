import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const complete = script(
  'complete',
  `--[=[ complete: keeps the answer. The last claim may still complete a doubt that nobody has settled.
  KEYS  the root; the record
  ARGV  generation fence claimId answerKind answerStatus answerHeaders answerBytes answerVersion [body] [location]
  gives { when it expires, or nothing for never }; nil where the claim is stale
]=]`,
  given,
  records,
  `
local record = found(KEYS[2])
if not isLastClaim(record) then return nil end
if record.state == 'in_progress' or record.state == 'unknown' then
  record = save(record, completed(record))
elseif record.state ~= 'completed' then
  return nil
end
return { record.expiresAt and digits(record.expiresAt) }
`,
)
