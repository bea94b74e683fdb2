import { given } from '../lua/given.js'
import { script } from '../script.js'

export const measure = script(
  'measure',
  `--[=[ measure: what there is of each kind, and since when.
  KEYS  the root
  gives { keys, running, for how long the oldest runs, doubts, how long the oldest lasts, doubts left to a person }
]=]`,
  given,
  `
local function count(index) return redis.call('ZCARD', root .. ':' .. index) end
local function oldestMs(index)
  local first = redis.call('ZRANGE', root .. ':' .. index, 0, 0, 'WITHSCORES')
  return first[2] and math.max(0, now - tonumber(first[2])) or 0
end
local counts = {
  count('all') - count('tombstones'), count('running'), oldestMs('running'),
  count('doubted'), oldestMs('doubted'), count('left'),
}
for i, n in ipairs(counts) do counts[i] = digits(n) end
return counts
`,
)
