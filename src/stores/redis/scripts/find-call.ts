import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const findCall = script(
  'find-call',
  `--[=[ find-call: a call by the key that it carried, and its record where that is still the same one.
  KEYS  the root
  ARGV  callKey
  gives { call, record }, each of them empty where there is none
]=]`,
  given,
  records,
  calls,
  `
local call = callOf(given.callKey)
if not call then return { {}, {} } end
local record = found(addressOf(call.digest))
local isSame = record and record.id == call.recordId
return { redis.call('HGETALL', callAt(call.key)), isSame and redis.call('HGETALL', addressOf(call.digest)) or {} }
`,
)
