import type { Store } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { keyOf } from '../../src/engine/key.js'
import { together } from '../../src/engine/quota-sharing.js'
import { scopeOf } from '../../src/engine/scope.js'
import { bench } from '../support/bench.js'
import { benchWith, isDone, run, runs } from '../support/quota-bench.js'
import { gate, rejection } from '../support/waiting.js'

/** Duplicates of a key that is new are one key: they take one place in a quota, and none of them is turned away for it. */

/** A limiter of so many that says nothing until it is let, and what it was asked. */
function slowLimiter(most: number) {
  const asked: string[] = []
  const answers = gate()
  const consume = async (name: string) => {
    asked.push(name)
    await answers.opened
    if (asked.length > most) throw { msBeforeNext: 60_000 }
  }
  return { asked, consume, answer: () => answers.open() }
}

describe('twenty callers with one new key at once', () => {
  const same = Array<string>(20).fill('same')

  test('use up one of the new keys per time: one runs, the others meet it', async () => {
    const limiter = slowLimiter(3)
    const given = benchWith({ newKeys: limiter })
    const held = gate<string>()
    const all = same.map((key) => run(given, key, 'acme', () => held.opened).catch((error: unknown) => error))
    await given.clock.settle()
    limiter.answer()
    await given.clock.settle()
    held.open('done')
    const ended = await Promise.all(all)
    expect(ended.filter(isDone)).toHaveLength(1)
    const others = ended.filter((one) => !isDone(one))
    expect(others).toEqual(Array(19).fill(expect.objectContaining({ code: 'idempotency_key_in_progress' })))
    expect(limiter.asked).toHaveLength(1)
    await runs(given, 'next', 'one more')
    expect(await rejection(run(given, 'too many'))).toMatchObject({ code: 'quota_exceeded' })
  })

  test('take the last place among the active keys together', async () => {
    const given = benchWith({ activeKeys: 2 })
    await runs(given, 'first')
    const held = gate<string>()
    const all = same.map((key) => run(given, key, 'acme', () => held.opened).catch((error: unknown) => error))
    await given.clock.settle()
    held.open('done')
    const ended = await Promise.all(all)
    expect(ended.filter(isDone)).toHaveLength(1)
    const others = ended.filter((one) => !isDone(one))
    expect(others).toEqual(Array(19).fill(expect.objectContaining({ code: 'idempotency_key_in_progress' })))
    expect(given.events).not.toContain('turned_away')
    expect(await rejection(run(given, 'one too many'))).toMatchObject({ code: 'quota_exceeded' })
  })

  test('are all turned away by one refusal, which holds for nobody who comes later', async () => {
    let most = 0
    const asked: string[] = []
    const answers = gate()
    const consume = async (name: string) => {
      asked.push(name)
      await answers.opened
      if (asked.length > most) throw { msBeforeNext: 60_000 }
    }
    const given = benchWith({ newKeys: { consume } })
    const all = same.map((key) => rejection(run(given, key)))
    await given.clock.settle()
    answers.open()
    expect(await Promise.all(all)).toEqual(Array(20).fill(expect.objectContaining({ code: 'quota_exceeded' })))
    expect(asked).toHaveLength(1)
    expect(given.events.filter((name) => name === 'turned_away')).toHaveLength(20)
    most = 2
    await runs(given, 'same')
  })
})

test('a duplicate that was told late that its key is new costs nothing, though the first has taken the key by then', async () => {
  const memory = memoryStore()
  const late = gate()
  let told = 0
  const slow: Store = {
    ...memory,
    async reserve(asked) {
      const verdict = await memory.reserve(asked)
      if (asked.onNew === 'tell' && ++told === 2) await late.opened
      return verdict
    },
  }
  const limiter = slowLimiter(1)
  limiter.answer()
  const given = bench(slow, { quotas: { newKeys: limiter } })
  const held = gate<string>()
  const first = run(given, 'same', 'acme', () => held.opened)
  const second = rejection(run(given, 'same'))
  await given.clock.settle()
  expect(given.events).toContain('reserved')
  late.open()
  expect(await second).toMatchObject({ code: 'idempotency_key_in_progress' })
  held.open('done')
  expect(await first).toMatchObject({ value: 'done' })
  expect(limiter.asked).toHaveLength(1)
})

describe('a key that another node takes while a limiter is asked', () => {
  const refusals = [
    ['refuses', () => Promise.reject({ msBeforeNext: 60_000 }), 'quota_exceeded'],
    ['fails', () => Promise.reject(new Error('connection refused')), 'limiter_unavailable'],
  ] as const

  test.each(refusals)('is a retry, though the limiter %s', async (_, refuse) => {
    const memory = memoryStore()
    const other = bench(memory)
    const consume = async () => {
      await run(other, 'same')
      return refuse()
    }
    const given = bench(memory, { quotas: { newKeys: { consume } } })
    expect(await run(given, 'same')).toMatchObject({ replayed: true, value: 'done' })
    expect(given.events).not.toContain('turned_away')
  })

  test.each(refusals)('stays refused when the limiter %s and the store does not say more', async (_, refuse, code) => {
    const given = benchWith({
      newKeys: {
        consume: async () => {
          given.faults.breakAt('reserve', 'before')
          return refuse()
        },
      },
    })
    expect(await rejection(run(given, 'same'))).toMatchObject({ code })
    given.faults.mend()
    expect(await given.record('same')).toBeUndefined()
  })
})

test('those who come together are let in once, and whoever comes when they are gone is asked for again', async () => {
  const crowds = together()
  const name = { scope: scopeOf('acme'), key: keyOf('same') }
  let admitted = 0
  const join = (key = 'same') =>
    crowds.join({ ...name, key: keyOf(key) }, async () => {
      admitted++
    })
  const [one, two] = [join(), join()]
  await Promise.all([one.admit(), two.admit(), two.admit()])
  expect(admitted).toBe(1)
  one.leave()
  const late = join()
  await Promise.all([two.admit(), late.admit()])
  expect(admitted).toBe(1)
  two.leave()
  late.leave()
  const three = join()
  await three.admit()
  expect(admitted).toBe(2)
  await join('another').admit()
  expect(admitted).toBe(3)
})

test('a refusal is heard by those who wait for it, and the next of the same crowd asks anew', async () => {
  const answers = ['no', 'yes']
  const admit = async () => {
    if (answers.shift() === 'no') throw new Error('turned away')
  }
  const crowds = together()
  const join = () => crowds.join({ scope: scopeOf('acme'), key: keyOf('same') }, admit)
  const [one, two] = [join(), join()]
  const refused = [rejection(one.admit()), rejection(two.admit())]
  expect(await Promise.all(refused)).toEqual(Array(2).fill(new Error('turned away')))
  await join().admit()
  expect(answers).toEqual([])
})
