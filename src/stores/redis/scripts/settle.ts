import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const settle = script(
  'settle',
  `--[=[ settle: ends a doubt by evidence, which ends its last claim too.
  KEYS  the root; the record
  ARGV  generation [fence] evidence (JSON, up to the time) outcome [recoveryPoint] [progress]
        [answerKind answerStatus answerHeaders answerBytes answerVersion [body] [location]] [callKind callKey]
  gives 1; nil where the record is not unknown, or was claimed again since
]=]`,
  given,
  records,
  calls,
  `
local record = found(KEYS[2])
if not (isLast(record) and record.state == 'unknown') then return nil end
local changes
if given.outcome == 'completed' then
  changes = completed(record)
else
  changes = idle('failed_retryable', {
    errorCode = false, isBegun = false, reconcileAfter = now, expiresAt = retained(record.retentionMs),
    progress = given.progress, onLeaseOver = given.progress and 'resume', recoveryPoint = given.recoveryPoint,
  })
end
changes.claimId = ''
local open = redis.call('HMGET', KEYS[2], 'errorCode', 'looks')
local doubt = '{"errorCode":' .. cjson.encode(open[1] or 'unknown') .. ',"at":' .. digits(record.doubtedAt or now)
  .. ',"fence":' .. digits(record.fence) .. ',"looks":' .. digits(tonumber(open[2] or 0)) .. '}'
local said = given.evidence .. digits(now) .. ',"doubt":' .. doubt .. '}'
changes.evidence = record.evidence == '[]' and '[' .. said .. ']' or string.sub(record.evidence, 1, -2) .. ',' .. said .. ']'
mark(save(record, changes))
return 1
`,
)
