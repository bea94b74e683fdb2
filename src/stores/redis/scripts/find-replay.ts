import { args } from '../lua/given.js'
import { script } from '../script.js'

export const findReplay = script(
  'find-replay',
  `--[=[ find-replay: an answer that is kept for a while.
  KEYS  the replay
  gives { the time, for how long it is still kept, the replay, which is empty where there is none }
]=]`,
  args,
  `
return { digits(time()), digits(redis.call('PTTL', KEYS[1])), redis.call('HGETALL', KEYS[1]) }
`,
)
