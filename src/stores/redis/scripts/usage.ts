import { given } from '../lua/given.js'
import { script } from '../script.js'

export const usage = script(
  'usage',
  `--[=[ usage: what a tenant takes up now. Takes what has expired meanwhile out of the count, a batch at a time.
  KEYS  the root
  ARGV  tenant atMost batch
  gives { 'again' } while there is more to take out; else { how many keys, how many bytes }
]=]`,
  given,
  `
local index = root .. ':use:' .. given.tenant
local function bytesOf(member) return tonumber(string.match(member, '%d+$')) end

local expired = redis.call('ZRANGEBYSCORE', index, '-inf', digits(now), 'LIMIT', 0, given.batch)
for _, member in ipairs(expired) do
  redis.call('ZREM', index, member)
  redis.call('HINCRBY', root .. ':bytes', given.tenant, digits(0 - bytesOf(member)))
end
if #expired == number('batch') then return { 'again' } end

local function sum(from, to)
  local bytes = 0
  for start = from, to, 1000 do
    for _, member in ipairs(redis.call('ZRANGE', index, start, math.min(start + 999, to))) do
      bytes = bytes + bytesOf(member)
    end
  end
  return bytes
end

local keys = redis.call('ZCARD', index)
local bytes = tonumber(redis.call('HGET', root .. ':bytes', given.tenant) or '0')
local most = number('atMost')
if keys > most then
  -- Those that are asked for, or all without the others: whichever are fewer.
  if most <= keys - most then bytes = sum(0, most - 1) else bytes = bytes - sum(most, keys - 1) end
  keys = most
end
return { digits(keys), digits(bytes) }
`,
)
