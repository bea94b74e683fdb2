import { given } from '../lua/given.js'
import { records } from '../lua/records.js'
import { script } from '../script.js'

export const postpone = script(
  'postpone',
  `--[=[ postpone: says when a record that nobody holds is looked at next, or leaves it to a person.
  KEYS  the root; the record
  ARGV  generation [fence] [state] [dueAt] looks [afterMs] [errorCode]
  gives 1; nil where it is held, or over, or not as it was seen
]=]`,
  given,
  records,
  `
local record = found(KEYS[2])
if not isLast(record) then return nil end
if record.state ~= 'unknown' and record.state ~= 'failed_retryable' then return nil end
if given.state and given.state ~= record.state then return nil end
if given.dueAt and number('dueAt') ~= record.reconcileAfter then return nil end
save(record, {
  looks = number('looks'), errorCode = given.errorCode,
  reconcileAfter = given.afterMs and now + number('afterMs') or false,
})
return 1
`,
)
