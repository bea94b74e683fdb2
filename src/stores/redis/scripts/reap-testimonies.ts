import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { script } from '../script.js'

export const reapTestimonies = script(
  'reap-testimonies',
  `--[=[ reap-testimonies: deletes old ones that name no call of ours. The others go with it, and are not looked at again.
  KEYS  the root
  ARGV  limit keepMs
  gives { how many were deleted, how many stay }
]=]`,
  given,
  calls,
  `
local old = redis.call('ZRANGEBYSCORE', root .. ':unheard', '-inf', digits(now - number('keepMs')), 'LIMIT', 0, given.limit)
local deleted = 0
for _, id in ipairs(old) do
  local key = redis.call('HGET', root .. ':said:' .. id, 'downstreamKey')
  if callOf(key) then
    redis.call('ZREM', root .. ':unheard', id)
  else
    unsaid(id, key)
    deleted = deleted + 1
  end
end
return { digits(deleted), digits(#old - deleted) }
`,
)
