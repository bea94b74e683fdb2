import { given } from '../lua/given.js'
import { script } from '../script.js'

export const open = script(
  'open',
  `--[=[ open: says how the data is laid out, marking it where there is none yet, and what the server is like.
  KEYS  the root
  ARGV  layout bytes
  gives { the layout of what is there, the bytes as they came, what INFO says or nothing where it may not be asked }
]=]`,
  given,
  `
redis.call('HSETNX', root, 'layout', given.layout)
local info = redis.pcall('INFO')
return { redis.call('HGET', root, 'layout'), given.bytes, type(info) == 'string' and info or '' }
`,
)
