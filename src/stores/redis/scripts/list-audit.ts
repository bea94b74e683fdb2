import { given } from '../lua/given.js'
import { script } from '../script.js'

export const listAudit = script(
  'list-audit',
  `--[=[ list-audit: a stretch of the audit log, of all of it or of what is about one thing.
  KEYS  the root
  ARGV  order [subject] [after] limit
  gives the entries, as JSON
]=]`,
  given,
  `
local last = tonumber(redis.call('HGET', root, 'auditSequence') or '0')
local step = given.order == 'newest' and -1 or 1
local after = number('after') or (step == 1 and 0 or last + 1)
local entries = {}
local function entry(sequence) entries[#entries + 1] = redis.call('HGET', root .. ':audit', digits(sequence)) end
if given.subject then
  local index = root .. ':audit-of:' .. given.subject
  local from = '(' .. digits(after)
  local sequences = step == 1 and redis.call('ZRANGEBYSCORE', index, from, '+inf', 'LIMIT', 0, given.limit)
    or redis.call('ZREVRANGEBYSCORE', index, from, '-inf', 'LIMIT', 0, given.limit)
  for _, sequence in ipairs(sequences) do entry(tonumber(sequence)) end
else
  local sequence = after + step
  while sequence >= 1 and sequence <= last and #entries < number('limit') do
    entry(sequence)
    sequence = sequence + step
  end
end
return entries
`,
)
