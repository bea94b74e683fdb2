import { given } from '../lua/given.js'
import { script } from '../script.js'

export const audited = script(
  'audited',
  `--[=[ audited: where the audit log ends, and the record that somebody wants to do something to.
  KEYS  the root; the record, where there is one
  gives { the time, how many entries there are, the hash of the last, the record }
]=]`,
  given,
  `
return {
  digits(now), redis.call('HGET', root, 'auditSequence') or '0', redis.call('HGET', root, 'auditHash') or '',
  KEYS[2] and redis.call('HGETALL', KEYS[2]) or {},
}
`,
)
