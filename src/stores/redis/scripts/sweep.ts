import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const sweep = script(
  'sweep',
  `--[=[ sweep: turns claims whose lease is over, and that may not run again, into doubt.
  KEYS  the root
  ARGV  limit
  gives the records
]=]`,
  given,
  records,
  `
local doubts = {}
for i, address in ipairs(due({ root .. ':overdue' }, given.limit)) do
  save(found(address), swept())
  doubts[i] = redis.call('HGETALL', address)
end
return doubts
`,
)
