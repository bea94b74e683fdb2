import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { script } from '../script.js'

export const namedCalls = script(
  'named-calls',
  `--[=[ named-calls: those of some keys that are calls of ours.
  KEYS  the root
  ARGV  1 and a key, 2 and a key, …
  gives the calls
]=]`,
  given,
  calls,
  `
local named = {}
for i = 2, #ARGV, 2 do
  local call = redis.call('HGETALL', callAt(ARGV[i]))
  if #call > 0 then named[#named + 1] = call end
end
return named
`,
)
