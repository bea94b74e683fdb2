import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { script } from '../script.js'

export const listCalls = script(
  'list-calls',
  `--[=[ list-calls: a stretch of the calls, of all or of one record, in the order in which they began.
  KEYS  the root
  ARGV  [record] [begunAt id (the place after which it goes on)] [since] [until] limit
  gives the calls
]=]`,
  given,
  calls,
  `
local index = given.record and root .. ':calls-of:' .. given.record or root .. ':calls'
local from = given.since and '[' .. padded(number('since')) or '-'
local to = given['until'] and '(' .. padded(number('until')) or '+'
if given.begunAt then
  local after = '(' .. padded(number('begunAt')) .. padded(number('id')) .. '\\255'
  if from == '-' or string.sub(after, 2) > string.sub(from, 2) then from = after end
end
local listed = {}
for i, place in ipairs(redis.call('ZRANGEBYLEX', index, from, to, 'LIMIT', 0, given.limit)) do
  listed[i] = redis.call('HGETALL', callAt(string.sub(place, 33)))
end
return listed
`,
)
