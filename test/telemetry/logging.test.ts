import { Writable } from 'node:stream'
import { engine, eventNames } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { eventLevels, logEvents, type PinoLike, pinoLog } from 'hapax/telemetry'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { bench } from '../support/bench.js'

/** Lines of a real pino, as they would be written. */

function logger(level = 'debug') {
  const lines: Record<string, unknown>[] = []
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      for (const line of chunk.toString().trim().split('\n')) lines.push(JSON.parse(line))
      done()
    },
  })
  return { lines, logger: pino({ level, base: null, timestamp: false }, stream) }
}

test('what the engine logs is a line with its code', async () => {
  const { lines, logger: to } = logger()
  const hapax = engine({ store: memoryStore(), log: pinoLog(to) })
  hapax.on('reserved', () => {
    throw new Error('a bug')
  })
  await hapax.run({ scope: 'acme', key: 'k', policy: hapax.policy({ name: 'a' }) }, async () => 1)
  expect(lines).toEqual([{ level: 50, code: 'listener_failed', msg: 'a listener to "reserved" threw Error.' }])
})

test('what happens is a line with its fields, each as loud as it should be', async () => {
  const { lines, logger: to } = logger()
  const { hapax, policy } = bench()
  onTestFinished(logEvents(hapax, to))
  const run = (input: unknown) => hapax.run({ scope: 'acme', key: 'k', policy: policy(), input }, async () => 'paid')
  await run(1)
  await run(1)
  await run(2).catch(() => undefined)
  const about = { scope: 'acme', record: expect.stringMatching(/^[0-9a-f]{32}$/), operation: 'payments.create' }
  expect(lines.filter(({ event }) => event !== 'key_looks_guessable')).toEqual([
    { level: 20, event: 'reserved', ...about, generation: 1, fence: 1, msg: 'hapax reserved' },
    { level: 20, event: 'completed', ...about, status: 200, bytes: 6, runMs: 0, msg: 'hapax completed' },
    { level: 20, event: 'replayed', ...about, from: 'store', msg: 'hapax replayed' },
    { level: 40, event: 'mismatched', ...about, msg: 'hapax mismatched' },
  ])
})

test('what nobody would write is not even heard, nor is what was turned off', async () => {
  const hapax = engine({ store: memoryStore() })
  const stop = logEvents(hapax, logger('warn').logger, { levels: { mismatched: 'off' } })
  const heard = eventNames.filter((name) => hapax.events.hears(name))
  expect(heard).toEqual(
    eventNames.filter((name) => ['warn', 'error'].includes(eventLevels[name]) && name !== 'mismatched'),
  )
  stop()
  expect(eventNames.filter((name) => hapax.events.hears(name))).toEqual([])
})

test('of what a database threw only its name and its code are told', async () => {
  const { lines, logger: to } = logger()
  const { hapax, faults, policy } = bench()
  onTestFinished(logEvents(hapax, to))
  faults.breakAt('reserve', 'before')
  await hapax.run({ scope: 'acme', key: 'k', policy: policy() }, async () => 1).catch(() => undefined)
  const failed = lines.filter(({ event }) => event === 'store_failed')
  expect(failed[0]).toEqual({
    level: 40,
    event: 'store_failed',
    step: 'reserve',
    errorCode: 'store_failed',
    cause: 'HapaxError store_failed',
    msg: 'hapax store_failed',
  })
})

test('a logger needs four levels and no more', async () => {
  const said: string[] = []
  const say = (level: string) => (fields: object, message: string) =>
    said.push(`${level} ${message} ${'event' in fields}`)
  const like: PinoLike = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
  const { hapax, policy } = bench()
  onTestFinished(logEvents(hapax, like))
  await hapax.run({ scope: 'acme', key: '8e03978e-40d5-43dd-bc93-6894a57f9324', policy: policy() }, async () => 1)
  expect(said).toEqual(['debug hapax reserved true', 'debug hapax completed true'])
})
