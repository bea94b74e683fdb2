import { limits } from 'hapax'
import { describe, expect, test } from 'vitest'
import { bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'

const request = { scope: 'acme', key: 'k-1', input: 1 }

describe('duplicates that wait', () => {
  test('share the result of the one that runs in their process, without asking the store', async () => {
    const { hapax, policy, clock, faults, events } = bench()
    const guarded = { ...request, policy: policy({ concurrency: 'wait' }) }
    const { opened, open } = gate<string>()
    let runs = 0
    const handler = () => {
      runs++
      return opened
    }
    const first = hapax.run(guarded, handler)
    await clock.settle()
    const duplicates = Array.from({ length: 20 }, () => hapax.run(guarded, handler))
    await clock.settle()
    open('one result')
    expect(await first).toMatchObject({ value: 'one result', replayed: false })
    for (const duplicate of await Promise.all(duplicates))
      expect(duplicate).toMatchObject({ value: 'one result', replayed: true })
    expect(runs).toBe(1)
    expect(faults.asked.get('reserve')).toBe(1)
    expect(events.filter((name) => name === 'shared')).toHaveLength(20)
  })

  test('of another process get the answer as soon as it is stored', async () => {
    const { hapax, another, policy, clock } = bench()
    const guarded = { ...request, policy: policy({ concurrency: 'wait' }) }
    const { opened, open } = gate<string>()
    const first = hapax.run(guarded, () => opened)
    await clock.settle()
    const elsewhere = another().run(guarded, async () => 'second')
    await clock.advance(3_000)
    open('one result')
    await first
    await clock.advance(1_000)
    expect(await elsewhere).toMatchObject({ value: 'one result', replayed: true })
  })

  test('take over when the first fails in a way that lets them', async () => {
    const { hapax, policy, clock } = bench()
    const guarded = { ...request, policy: policy({ concurrency: 'wait' }) }
    const { opened, open } = gate()
    const first = hapax.run(guarded, async () => {
      await opened
      throw new Error('first failed')
    })
    const failed = expect(first).rejects.toThrow('first failed')
    await clock.settle()
    const second = hapax.run(guarded, async () => 'second')
    await clock.settle()
    open()
    await failed
    expect(await second).toMatchObject({ value: 'second', replayed: false })
  })

  test('join the next one that runs when the first fails, and still do not ask the store', async () => {
    const { hapax, policy, clock, faults } = bench()
    const guarded = { ...request, policy: policy({ concurrency: 'wait' }) }
    const first = gate()
    const second = gate<string>()
    const failing = hapax.run(guarded, async () => {
      await first.opened
      throw new Error('first failed')
    })
    const failed = expect(failing).rejects.toThrow('first failed')
    await clock.settle()
    const waiting = Array.from({ length: 20 }, () => hapax.run(guarded, () => second.opened))
    await clock.settle()
    first.open()
    await failed
    await clock.advance(3_000)
    second.open('one result')
    for (const waiter of await Promise.all(waiting)) expect(waiter).toMatchObject({ value: 'one result' })
    expect(faults.asked.get('reserve')).toBe(2)
  })

  test.each(['the same process', 'another process'])('of %s give up after their bound', async (where) => {
    const { hapax, another, policy, clock } = bench()
    const guarded = { ...request, policy: policy({ concurrency: 'wait', waitFor: '4s' }) }
    const { opened, open } = gate()
    const first = hapax.run(guarded, () => opened)
    await clock.settle()
    const duplicate = (where === 'the same process' ? hapax : another()).run(guarded, async () => 'second')
    const ended = expect(duplicate).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
    await clock.advance(4_000)
    await ended
    open()
    await first
  })

  test('are bounded in number; one too many is told to come back at once', async () => {
    const { hapax, policy, clock } = bench()
    const guarded = { ...request, policy: policy({ concurrency: 'wait' }) }
    const { opened, open } = gate<string>()
    const first = hapax.run(guarded, () => opened)
    await clock.settle()
    const waiting = Array.from({ length: limits.waiters }, () => hapax.run(guarded, async () => 'second'))
    await expect(hapax.run(guarded, async () => 'second')).rejects.toMatchObject({
      code: 'waiting_room_full',
      retryAfterMs: 2000,
    })
    open('one result')
    await Promise.all([first, ...waiting])
  })

  test('never get the result of another request under the same key', async () => {
    const { hapax, policy, clock } = bench()
    const guarded = { ...request, policy: policy({ concurrency: 'wait' }) }
    const { opened, open } = gate<string>()
    const first = hapax.run(guarded, () => opened)
    await clock.settle()
    await expect(hapax.run({ ...guarded, input: 2 }, async () => 'second')).rejects.toMatchObject({
      code: 'idempotency_key_reused_with_different_payload',
    })
    open('one result')
    await first
  })
})

test('a duplicate that is accepted hears at once when to ask again', async () => {
  const { hapax, clock } = bench()
  const guarded = { ...request, policy: hapax.policy({ name: 'payments.create', concurrency: 'accept' }) }
  const { opened, open } = gate<string>()
  const first = hapax.run(guarded, () => opened)
  await clock.settle()
  expect(await hapax.run(guarded, async () => 'second')).toEqual({ kind: 'accepted', retryAfterMs: 2000 })
  open('result')
  await first
  expect(await hapax.run(guarded, async () => 'second')).toMatchObject({
    kind: 'done',
    value: 'result',
    replayed: true,
  })
})

test('of fifty callers at once exactly one runs', async () => {
  const { hapax, another, policy } = bench()
  const guarded = { ...request, policy: policy() }
  const engines = [hapax, another(), another()]
  let runs = 0
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, n) => (engines[n % 3] ?? hapax).run(guarded, async () => ++runs)),
  )
  expect(runs).toBe(1)
  const refusals = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason.code)
  expect(new Set(refusals)).toEqual(new Set(['idempotency_key_in_progress']))
})

test('a hundred handlers at once make no listener warn of a leak', async () => {
  const { hapax, policy, clock } = bench()
  const warnings: string[] = []
  const onWarning = ({ name }: Error) => warnings.push(name)
  process.on('warning', onWarning)
  const { opened, open } = gate()
  const payments = policy()
  const running = Array.from({ length: 100 }, (_, n) =>
    hapax.run({ scope: 'acme', key: `k-${n}`, policy: payments }, () => opened),
  )
  await clock.settle()
  open()
  await Promise.all(running)
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
})
