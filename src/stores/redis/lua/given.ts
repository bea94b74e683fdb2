/**
 * What every script begins with. ARGV are pairs of a name and a value, and what is absent is not sent: so no client library
 * has a place of its own for an option that it could leave out.
 */
export const args = `
local given = {}
for i = 1, #ARGV, 2 do given[ARGV[i]] = ARGV[i + 1] end

local function number(name) return tonumber(given[name]) end
-- Lua would write a large number as 1.7e+12.
local function digits(n) return string.format('%.0f', n) end

-- Milliseconds by the clock of Redis.
local function time()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end
`

/**
 * And every script of the store. KEYS[1] is its root, a hash of its counters. All other keys begin with it and share its hash
 * tag, so that a cluster has them in one place. A test may pin the time there.
 */
export const given = `${args}
local root = KEYS[1]
-- Numbers in the order of their characters.
local function padded(n) return string.format('%016.0f', n) end
local now = tonumber(redis.call('HGET', root, 'pinnedAt') or time())
`
