import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const reap = script(
  'reap',
  `--[=[ reap: deletes tombstones that stood their time, with all that hangs on them, and buries what is past retention.
  KEYS  the root
  ARGV  limit, of each
  gives { how many were buried, how many were deleted }
]=]`,
  given,
  records,
  calls,
  `
local old = due({ root .. ':tombstones' }, given.limit)
for _, address in ipairs(old) do
  local record = found(address)
  remove(record)
  forget(record, 'go')
end
local expired = due({ root .. ':expiring' }, given.limit)
for _, address in ipairs(expired) do
  save(found(address), withoutAnswer(idle('expired', { trace = false })))
end
return { digits(#expired), digits(#old) }
`,
)
