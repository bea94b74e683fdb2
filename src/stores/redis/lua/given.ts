/**
 * What every script begins with. ARGV are pairs of a name and a value, and what is absent is not sent: so no client library
 * has a place of its own for an option that it could leave out.
 *
 * KEYS[1] is the root of the store, a hash of its counters. All other keys begin with it and share its hash tag, so that a
 * cluster has them in one place.
 */
export const given = `
local root = KEYS[1]
local given = {}
for i = 1, #ARGV, 2 do given[ARGV[i]] = ARGV[i + 1] end

local function number(name) return tonumber(given[name]) end
-- Lua would write a large number as 1.7e+12.
local function digits(n) return string.format('%.0f', n) end
-- Numbers in the order of their characters.
local function padded(n) return string.format('%016.0f', n) end

-- Milliseconds by the clock of Redis, which a test may pin.
local function clock()
  local pinned = redis.call('HGET', root, 'pinnedAt')
  if pinned then return tonumber(pinned) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local now = clock()
`
