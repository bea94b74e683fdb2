import { calls } from '../lua/calls.js'
import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const act = script(
  'act',
  `--[=[ act: does what a person wants, and writes it down, if log and record are as they were seen. Redis has no SHA-256, so
  that the entry was made by whoever asks, out of what it saw.
  KEYS  the root; the record, where there is one
  ARGV  hash (of the log's end, as it was seen) at entry subject nextSequence nextHash
        [version (of the record, as it was seen) gone, one field a line; =field and its value, …] [callKind callKey]
  gives 1; nil where either has changed
]=]`,
  given,
  records,
  calls,
  `
if (redis.call('HGET', root, 'auditHash') or '') ~= given.hash then return nil end
if given.version then
  if redis.call('HGET', KEYS[2], 'version') ~= given.version then return nil end
  local changes, numeric = {}, {}
  for _, name in ipairs(numbers) do numeric[name] = true end
  for name, value in pairs(given) do
    local field = string.match(name, '^=(.*)')
    if field then changes[field] = numeric[field] and tonumber(value) or value end
  end
  for field in string.gmatch(given.gone, '[^\\n]+') do changes[field] = false end
  now = number('at')
  mark(save(found(KEYS[2]), changes))
end
redis.call('HSET', root .. ':audit', given.nextSequence, given.entry)
redis.call('ZADD', root .. ':audit-of:' .. given.subject, given.nextSequence, given.nextSequence)
redis.call('HSET', root, 'auditSequence', given.nextSequence, 'auditHash', given.nextHash)
return 1
`,
)
