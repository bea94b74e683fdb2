import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const list = script(
  'list',
  `--[=[ list: walks a stretch of an index, whose members are in the order of their characters, for records that fit.
  KEYS  the root
  ARGV  index min max order look (how many it looks at) limit (how many it gives)
        [behind] (the name of the record that the last page of keys ended with)
        [scope] [tenant] [state] [operation] [keyIs] [keyStarts] [status] [resource] [since] [until]
  gives { how many it looked at, the last of them, { place, record, place, record, … } }
]=]`,
  given,
  records,
  `
local asked = { 'scope', 'state', 'operation', 'key', 'answerStatus', 'location', 'createdAt' }

local function fits(address)
  local scope, state, operation, key, status, location, createdAt = unpack(redis.call('HMGET', address, unpack(asked)))
  local function is(name, value) return not given[name] or given[name] == value end
  return is('scope', scope) and is('state', state) and is('operation', operation) and is('keyIs', key)
    and is('status', status) and is('resource', location) and is('tenant', tenantOf(scope))
    and (not given.keyStarts or string.sub(key, 1, #given.keyStarts) == given.keyStarts)
    and (not given.since or tonumber(createdAt) >= number('since'))
    and (not given['until'] or tonumber(createdAt) < number('until'))
end

local index = root .. ':' .. given.index
-- A record that is gone by now has no place any more: the list begins anew, and nothing is missed.
local key = given.behind and redis.call('HGET', addressAt(given.behind), 'key')
if key then given[given.order == 'newest' and 'max' or 'min'] = '(' .. key .. '\\n' .. given.behind end
local places
if given.order == 'newest' then
  places = redis.call('ZREVRANGEBYLEX', index, given.max, given.min, 'LIMIT', 0, given.look)
else
  places = redis.call('ZRANGEBYLEX', index, given.min, given.max, 'LIMIT', 0, given.look)
end
local fitting, looked = {}, 0
for i, place in ipairs(places) do
  if #fitting == 2 * number('limit') then break end
  looked = i
  local address = addressAt(place)
  if fits(address) then
    fitting[#fitting + 1] = place
    fitting[#fitting + 1] = redis.call('HGETALL', address)
  end
end
return { digits(looked), places[looked] or '', fitting }
`,
)
