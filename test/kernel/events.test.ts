import { expect, test } from 'vitest'
import { type Detail, type Events, emitter } from '../../src/kernel/events.js'
import type { LogEntry } from '../../src/kernel/log.js'

/** Who hears what, and what is built for it. */

function given() {
  const logged: LogEntry[] = []
  const built: Detail[] = []
  const events = emitter((entry) => logged.push(entry))
  const replay = (detail: Detail): Events['replayed'] => {
    built.push(detail)
    return { scope: 'acme', record: detail === 'whole' ? 'digest' : '', operation: 'payments.create', from: 'store' }
  }
  return { logged, built, events, emit: () => events.emit('replayed', replay) }
}

test('nothing is built for an event that nobody hears', () => {
  const { events, built, emit } = given()
  emit()
  events.on('replayed', () => {})()
  emit()
  expect([built, events.hears('replayed')]).toEqual([[], false])
})

test('for those who only count no digest is made; with others it is, once for all', () => {
  const { events, built, emit } = given()
  const tallied: unknown[] = []
  const heard: unknown[] = []
  events.tally('replayed', (event) => tallied.push(event.operation))
  emit()
  const stop = events.on('replayed', ({ record }) => heard.push(record))
  emit()
  stop()
  emit()
  expect(built).toEqual(['tallied', 'whole', 'tallied'])
  expect([tallied.length, heard]).toEqual([3, ['digest']])
})

test('a listener that throws, at once or later, is told of and disturbs nobody', async () => {
  const { events, emit, logged } = given()
  const heard: string[] = []
  events.tally('replayed', () => {
    throw new TypeError('secret')
  })
  events.on('replayed', async () => Promise.reject(new RangeError('secret')))
  events.on('replayed', () => heard.push('the last'))
  emit()
  await new Promise((resolve) => setImmediate(resolve))
  expect(heard).toEqual(['the last'])
  expect(logged.map(({ code, message }) => `${code}: ${message}`)).toEqual([
    'listener_failed: a listener to "replayed" threw TypeError.',
    'listener_failed: a listener to "replayed" threw RangeError.',
  ])
})

test('one who listens twice hears it once, and is deaf when he stops', () => {
  const { events, emit } = given()
  let heard = 0
  const listener = () => ++heard
  const stop = events.on('replayed', listener)
  events.on('replayed', listener)
  emit()
  stop()
  emit()
  expect(heard).toBe(1)
})
