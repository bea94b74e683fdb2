import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const abandon = script(
  'abandon',
  `--[=[ abandon: leaves to a person what is half-done past its retention, and nobody goes on with.
  KEYS  the root
  ARGV  operations, one a line; limit
  gives the records
]=]`,
  given,
  records,
  `
local goesOn = {}
for operation in string.gmatch(given.operations or '', '[^\\n]+') do goesOn[operation] = true end

-- By its place alone, so that what workers go on with is not read.
local function isOurs(place) return goesOn[string.match(place, '^(.*)\\n')] end
local function isDue(record) return (record.leaseUntil or record.reconcileAfter or now) <= now end

local limit, start, unfinished = number('limit'), 0, {}
repeat
  local places = redis.call('ZRANGEBYSCORE', root .. ':unfinished', '-inf', digits(now), 'LIMIT', start, limit)
  for _, place in ipairs(places) do
    local record = #unfinished < limit and not isOurs(place) and found(addressAt(place))
    if record and isDue(record) then unfinished[#unfinished + 1] = record end
  end
  start = start + #places
until #unfinished == limit or #places < limit

local left = {}
for i, record in ipairs(unfinished) do
  local changes = doubted(false, 'abandoned')
  -- Whoever said that it failed has had the last word.
  if record.state == 'failed_retryable' then changes.claimId = '' end
  save(record, changes)
  left[i] = redis.call('HGETALL', addressOf(record.digest))
end
return left
`,
)
