import { args } from '../lua/given.js'
import { script } from '../script.js'

export const keepReplay = script(
  'keep-replay',
  `--[=[ keep-replay: keeps an answer until a time by the clock of Redis, unless that has passed, or a later generation is kept.
  KEYS  the replay
  ARGV  until generation =generation, =answerStatus and all other fields of it
  gives the time
]=]`,
  args,
  `
local now = time()
local leftMs = number('until') - now
local held = tonumber(redis.call('HGET', KEYS[1], 'generation') or '0')
if leftMs > 0 and held <= number('generation') then
  redis.call('DEL', KEYS[1])
  for name, value in pairs(given) do
    local field = string.match(name, '^=(.*)')
    if field then redis.call('HSET', KEYS[1], field, value) end
  end
  redis.call('PEXPIRE', KEYS[1], digits(leftMs))
end
return digits(now)
`,
)
