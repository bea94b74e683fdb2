import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const testify = script(
  'testify',
  `--[=[ testify: keeps what somebody said about a call. A doubt about it is due in the same step.
  KEYS  the root
  ARGV  callKey says by why [result]
  gives 1
]=]`,
  given,
  records,
  calls,
  `
local id = digits(redis.call('HINCRBY', root, 'lastSaidId', 1))
redis.call('HSET', root .. ':said:' .. id, 'downstreamKey', given.callKey, 'says', given.says, 'by', given.by,
  'why', given.why, 'at', digits(now))
if given.result then redis.call('HSET', root .. ':said:' .. id, 'result', given.result) end
redis.call('ZADD', root .. ':said-of:' .. given.callKey, id, id)
redis.call('ZADD', root .. ':unheard', digits(now), id)
local call = callOf(given.callKey)
local record = call and found(addressOf(call.digest))
if record and record.state == 'unknown' then save(record, { reconcileAfter = now }) end
return 1
`,
)
