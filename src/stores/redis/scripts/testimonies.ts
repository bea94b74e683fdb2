import { given } from '../lua/given.js'
import { script } from '../script.js'

export const testimonies = script(
  'testimonies',
  `--[=[ testimonies: what was said about some calls, oldest first.
  KEYS  the root
  ARGV  1 and a key, 2 and a key, …
  gives the testimonies
]=]`,
  given,
  `
local ids = {}
for i = 2, #ARGV, 2 do
  for _, id in ipairs(redis.call('ZRANGE', root .. ':said-of:' .. ARGV[i], 0, -1)) do ids[#ids + 1] = tonumber(id) end
end
table.sort(ids)
local said = {}
for i, id in ipairs(ids) do said[i] = redis.call('HGETALL', root .. ':said:' .. digits(id)) end
return said
`,
)
