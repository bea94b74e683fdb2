import { given } from '../lua/given.js'
import { script } from '../script.js'

export const open = script(
  'open',
  `--[=[ open: says how the data is laid out, having marked it where there is none yet, and what the server is like.
  KEYS  the root
  ARGV  [layout, to mark it with] bytes
  gives { the layout of what is there, the bytes as they came, what INFO says or nothing where it may not be asked }
]=]`,
  given,
  `
if given.layout then redis.call('HSETNX', root, 'layout', given.layout) end
local info = redis.pcall('INFO')
return { redis.call('HGET', root, 'layout') or '', given.bytes, type(info) == 'string' and info or '' }
`,
)
