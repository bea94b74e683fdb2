import { given } from '../lua/given.js'
import { script } from '../script.js'

export const tenants = script(
  'tenants',
  `--[=[ tenants: those that have records, in the order of their characters.
  KEYS  the root
  ARGV  after limit
  gives the tenants
]=]`,
  given,
  `
return redis.call('ZRANGEBYLEX', root .. ':tenants', '(' .. given.after, '+', 'LIMIT', 0, given.limit)
`,
)
