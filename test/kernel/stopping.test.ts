import { expect, test } from 'vitest'
import { Stopping } from '../../src/kernel/stopping.js'

const reason = new Error('enough')

test('who listens is told once, with the first reason, and who has taken that back is not', () => {
  const stopping = new Stopping()
  const told: unknown[] = []
  stopping.onStop((why) => told.push(why))
  stopping.onStop(() => told.push('taken back'))()
  stopping.stop(reason)
  stopping.stop(new Error('too late'))
  expect([told, stopping.reason, stopping.isStopped]).toEqual([[reason], reason, true])
})

test('who listens after the end is told at once, and a signal that is read after it has aborted', () => {
  const stopping = new Stopping()
  stopping.stop(reason)
  const told: unknown[] = []
  stopping.onStop((why) => told.push(why))
  expect([told, stopping.signal.aborted, stopping.signal.reason]).toEqual([[reason], true, reason])
})

test('one who throws when told keeps no signal from aborting', () => {
  const stopping = new Stopping()
  const { signal } = stopping
  stopping.onStop(() => {
    throw new Error('a bug of who listens')
  })
  expect(() => stopping.stop(reason)).toThrow('a bug')
  expect([signal.aborted, signal.reason]).toEqual([true, reason])
})
