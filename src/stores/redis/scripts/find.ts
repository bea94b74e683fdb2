import { given } from '../lua/given.js'
import { script } from '../script.js'

export const find = script(
  'find',
  `--[=[ find: one record.
  KEYS  the root; the record
  gives the record, which is empty where there is none
]=]`,
  given,
  `
return redis.call('HGETALL', KEYS[2])
`,
)
