import { given } from '../lua/given.js'
import { script } from '../script.js'

export const reapable = script(
  'reapable',
  `--[=[ reapable: what a reaping would find now.
  KEYS  the root
  gives { how many it would bury, how many it would delete }
]=]`,
  given,
  `
local function due(index) return digits(redis.call('ZCOUNT', root .. ':' .. index, '-inf', digits(now))) end
return { due('expiring'), due('tombstones') }
`,
)
