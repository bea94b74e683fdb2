import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const doubts = script(
  'doubts',
  `--[=[ doubts: takes doubts whose time has come, and puts them off for everybody else.
  KEYS  the root
  ARGV  operations, one a line; limit holdMs
  gives the records
]=]`,
  given,
  records,
  `
local taken = {}
for i, address in ipairs(due(indexesOf('doubts'), given.limit)) do
  save(found(address), { reconcileAfter = now + number('holdMs') })
  taken[i] = redis.call('HGETALL', address)
end
return taken
`,
)
