import { expect, test } from 'vitest'
import { pulse } from '../../src/engine/pulse.js'
import { nowhere } from '../../src/kernel/roster.js'
import { manualClock } from '../support/manual-clock.js'

const bench = () => {
  const clock = manualClock()
  const one = pulse(clock, 'weakly')
  const told: string[] = []
  const add = (name: string, dueAt: number) => {
    const due = { dueAt, due: () => told.push(`${name} at ${clock.elapsed()}`), place: nowhere }
    one.add(due)
    return due
  }
  return { clock, pulse: one, told, add }
}

test('each is told once, when it is due, in whatever order they came', async () => {
  const { clock, told, add } = bench()
  add('late', 30)
  add('early', 10)
  add('middle', 20)
  await clock.advance(9)
  expect(told).toEqual([])
  await clock.advance(100)
  expect(told).toEqual(['early at 10', 'middle at 20', 'late at 30'])
})

test('what was taken away is not told, and those behind it are', async () => {
  const { clock, pulse, told, add } = bench()
  const gone = add('gone', 10)
  add('stays', 20)
  pulse.remove(gone)
  await clock.advance(100)
  expect(told).toEqual(['stays at 20'])
})

test('one that comes after all others were due is told too', async () => {
  const { clock, told, add } = bench()
  add('first', 10)
  await clock.advance(50)
  add('second', 60)
  await clock.advance(50)
  expect(told).toEqual(['first at 10', 'second at 60'])
})

test('one that is added by another when that is due is not lost', async () => {
  const { clock, pulse, told, add } = bench()
  pulse.add({ dueAt: 10, due: () => void add('inner', 15), place: nowhere })
  add('outer', 20)
  await clock.advance(100)
  expect(told).toEqual(['inner at 15', 'outer at 20'])
})

test('after it stopped nobody is told', async () => {
  const { clock, pulse, told, add } = bench()
  add('never', 10)
  pulse.stop()
  await clock.advance(100)
  expect(told).toEqual([])
})
