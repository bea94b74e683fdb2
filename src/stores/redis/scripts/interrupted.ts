import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const interrupted = script(
  'interrupted',
  `--[=[ interrupted: finds what may go on and nobody holds. Changes nothing.
  KEYS  the root
  ARGV  operations, one a line; limit
  gives the records
]=]`,
  given,
  records,
  `
local waiting = {}
for i, address in ipairs(due(indexesOf('interrupted'), given.limit)) do waiting[i] = redis.call('HGETALL', address) end
return waiting
`,
)
