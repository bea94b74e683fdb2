import { engine } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { bench } from '../support/bench.js'
import { manualClock } from '../support/manual-clock.js'
import { gate } from '../support/waiting.js'

const request = { scope: 'acme', key: 'k-1', input: 1 }

describe('a handler that runs longer than its lease', () => {
  test('keeps the key by renewing, and its answer is stored', async () => {
    const { hapax, policy, clock, record } = bench()
    const { opened, open } = gate<string>()
    const running = hapax.run({ ...request, policy: policy() }, () => opened)
    await clock.advance(5 * 60_000)
    await expect(hapax.run({ ...request, policy: policy() }, async () => 'second')).rejects.toMatchObject({
      code: 'idempotency_key_in_progress',
    })
    open('slow but alive')
    expect(await running).toMatchObject({ value: 'slow but alive', replayed: false })
    expect((await record('k-1'))?.fence).toBe(1)
  })

  test('survives a renewal that fails, as long as the lease is not over', async () => {
    const { hapax, policy, clock, faults, events } = bench()
    const { opened, open } = gate<string>()
    const running = hapax.run({ ...request, policy: policy() }, () => opened)
    await clock.settle()
    faults.breakAt('renew', 'before', 3)
    await clock.advance(45_000)
    open('done')
    expect(await running).toMatchObject({ value: 'done' })
    expect(events).not.toContain('claim_lost')
  })

  test('survives a renewal that a store throws at once, without a promise', async () => {
    const clock = manualClock()
    const store = memoryStore({ clock })
    let failures = 3
    const renew: typeof store.renew = (claim, leaseMs) => {
      if (failures-- > 0) throw new Error('the driver is gone')
      return store.renew(claim, leaseMs)
    }
    const hapax = engine({ store: { ...store, renew }, clock })
    const { opened, open } = gate<string>()
    const running = hapax.run({ ...request, policy: hapax.policy({ name: 'payments.create' }) }, () => opened)
    await clock.advance(45_000)
    open('done')
    expect(await running).toMatchObject({ value: 'done' })
    expect(failures).toBeLessThan(0)
  })

  test('hears that its claim is lost when the lease could not be renewed in time', async () => {
    const { hapax, policy, clock, faults, events } = bench()
    const { opened, open } = gate()
    let signal: AbortSignal | undefined
    const running = hapax.run({ ...request, policy: policy() }, (work) => {
      signal = work.signal
      return opened
    })
    await clock.settle()
    faults.breakAt('renew', 'before')
    await clock.advance(29_000)
    expect(signal?.aborted).toBe(false)
    await clock.advance(10_000)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ code: 'claim_lost' })
    expect(events).toContain('claim_lost')
    faults.mend()
    open()
    await running
  })

  test('is no longer waited for after maxRun, and may still complete the doubt that this left', async () => {
    const { hapax, policy, clock, record, events } = bench()
    const { opened, open } = gate<string>()
    const guarded = { ...request, policy: policy({ maxRun: '1m' }) }
    const running = hapax.run(guarded, () => opened)
    const ended = expect(running).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
    await clock.advance(60_000)
    await ended
    expect(events).toContain('overran')
    await clock.advance(60_000)
    await expect(hapax.run(guarded, async () => 'second')).rejects.toMatchObject({ code: 'outcome_unknown' })
    open('late, but true')
    await clock.settle()
    expect(await record('k-1')).toMatchObject({ state: 'completed', fence: 1 })
    expect(await hapax.run(guarded, async () => 'second')).toMatchObject({ value: 'late, but true', replayed: true })
  })

  test('is not waited for any longer, also when its claim was lost before', async () => {
    const { hapax, clock, policy, faults } = bench()
    const guarded = { ...request, policy: policy({ lease: '1s', maxRun: '1m' }) }
    const codes: string[] = []
    hapax.run(guarded, () => new Promise(() => {})).catch(({ code }: { code: string }) => codes.push(code))
    await clock.settle()
    faults.breakAt('renew', 'before', 100)
    await clock.advance(10_000)
    expect(codes).toEqual([])
    await clock.advance(50_000)
    expect(codes).toEqual(['idempotency_key_in_progress'])
  })

  test('is not waited for any longer, also when it was given up before its lease was ever due', async () => {
    const { hapax, clock, policy } = bench()
    const guarded = { ...request, policy: policy({ lease: '1m', maxRun: '2m' }) }
    const codes: string[] = []
    hapax.run(guarded, () => new Promise(() => {})).catch(({ code }: { code: string }) => codes.push(code))
    await clock.settle()
    const closing = hapax.close()
    await clock.advance(15_000)
    await closing
    expect(codes).toEqual([])
    await clock.advance(2 * 60_000)
    expect(codes).toEqual(['idempotency_key_in_progress'])
  })

  test('is not said to overrun when it is over, and only the store takes nothing of it', async () => {
    const { hapax, clock, policy, faults, events } = bench()
    const guarded = { ...request, policy: policy({ lease: '10s', maxRun: '1m' }) }
    const { opened, open } = gate<string>()
    const running = hapax.run(guarded, () => opened).catch(({ code }: { code: string }) => code)
    await clock.settle()
    await clock.advance(5_000)
    for (const method of ['renew', 'complete', 'find'] as const) faults.breakAt(method, 'before', 1_000)
    open('done')
    await clock.advance(60_000)
    expect(await running).toBe('answer_not_stored')
    await clock.advance(2 * 60_000)
    expect(events).not.toContain('overran')
  })
})

describe('a holder that hears late', () => {
  test('never starts on a lease that is over: another one may be running', async () => {
    const { hapax, another, policy, clock, faults } = bench()
    const guarded = { ...request, policy: policy({ lease: '1s', onCrash: 'retry' }) }
    const runs: string[] = []
    faults.breakAt('reserve', 'late', 1)
    const first = hapax.run(guarded, async () => runs.push('first'))
    await clock.advance(1_500)
    const { opened, open } = gate()
    const second = another().run(guarded, () => {
      runs.push('second')
      return opened
    })
    await clock.settle()
    faults.mend()
    await expect(first).rejects.toMatchObject({ code: 'claim_lost' })
    open()
    await second
    expect(runs).toEqual(['second'])
  })

  test('gives up when its lease ends, even while a renewal hangs', async () => {
    const { hapax, policy, clock, faults } = bench()
    const { opened, open } = gate()
    let signal: AbortSignal | undefined
    const running = hapax.run({ ...request, policy: policy({ lease: '1s' }) }, (work) => {
      signal = work.signal
      return opened
    })
    await clock.settle()
    faults.breakAt('renew', 'hangs')
    await clock.advance(999)
    expect(signal?.aborted).toBe(false)
    await clock.advance(1)
    expect(signal?.aborted).toBe(true)
    faults.mend()
    open()
    await running
  })

  test('keeps the reason why its handler failed when a sweeper was faster', async () => {
    const { hapax, policy, clock, faults } = bench()
    const { opened, open } = gate()
    const running = hapax.run({ ...request, policy: policy() }, async () => {
      await opened
      throw new Error('the real reason')
    })
    const ended = expect(running).rejects.toMatchObject({
      code: 'outcome_unknown',
      cause: { message: 'the real reason' },
    })
    await clock.settle()
    faults.breakAt('renew', 'before')
    await clock.advance(31_000)
    faults.mend()
    await faults.store.sweep(10)
    open()
    await ended
  })
})

describe('a holder that lost its claim', () => {
  test('changes nothing: the answer of the one that took over stands, and both callers get it', async () => {
    const { hapax, another, policy, clock, faults } = bench()
    const guarded = { ...request, policy: policy({ onCrash: 'retry' }) }
    const { opened, open } = gate<string>()
    const frozen = hapax.run(guarded, () => opened)
    await clock.settle()
    faults.breakAt('renew', 'before')
    await clock.advance(31_000)
    faults.mend()
    expect(await another().run(guarded, async () => 'by the second')).toMatchObject({
      value: 'by the second',
      replayed: false,
    })
    open('by the first')
    expect(await frozen).toMatchObject({ value: 'by the second', replayed: true })
    expect(await hapax.run(guarded, async () => 'third')).toMatchObject({ value: 'by the second', replayed: true })
  })

  test('is told so when the other one still runs', async () => {
    const { hapax, another, policy, clock, faults } = bench()
    const guarded = { ...request, policy: policy({ onCrash: 'retry' }) }
    const first = gate<string>()
    const second = gate<string>()
    const frozen = hapax.run(guarded, () => first.opened)
    await clock.settle()
    faults.breakAt('renew', 'before')
    await clock.advance(31_000)
    faults.mend()
    const other = another().run(guarded, () => second.opened)
    await clock.settle()
    first.open('by the first')
    await expect(frozen).rejects.toMatchObject({ code: 'claim_lost', retryable: true })
    second.open('by the second')
    expect(await other).toMatchObject({ value: 'by the second' })
  })

  test('aborts its handler as soon as a renewal is refused', async () => {
    const { hapax, policy, clock, faults, record } = bench()
    const { opened, open } = gate()
    let signal: AbortSignal | undefined
    const guarded = { ...request, policy: policy() }
    const running = hapax.run(guarded, (work) => {
      signal = work.signal
      return opened
    })
    await clock.settle()
    const held = await record('k-1')
    if (held !== undefined) await faults.store.release(held)
    await clock.advance(9_999)
    expect(signal?.aborted).toBe(false)
    await clock.advance(1)
    expect(signal?.aborted).toBe(true)
    open()
    await expect(running).rejects.toMatchObject({ code: 'claim_lost' })
  })
})

describe('a process that vanished', () => {
  test('leaves an outcome that nobody knows, and no retry runs it again', async () => {
    const { hapax, another, policy, clock, faults, events } = bench()
    const guarded = { ...request, policy: policy() }
    void hapax.run(guarded, () => gate().opened).catch(() => {})
    await clock.settle()
    faults.breakAt('renew', 'before')
    await clock.advance(30_000)
    faults.mend()
    let runs = 0
    const retry = another().run(guarded, async () => ++runs)
    await expect(retry).rejects.toMatchObject({ code: 'outcome_unknown', retryAfterMs: 30_000 })
    expect(runs).toBe(0)
    expect(events).toContain('met_unknown')
  })

  test('lets the retry run where the policy says that it may, under a higher fence', async () => {
    const { hapax, another, policy, clock, faults } = bench()
    const guarded = { ...request, policy: policy({ onCrash: 'retry' }) }
    void hapax.run(guarded, () => gate().opened).catch(() => {})
    await clock.settle()
    faults.breakAt('renew', 'before')
    await clock.advance(30_000)
    faults.mend()
    const attempts = await another().run(guarded, async (work) => work.attempt)
    expect(attempts).toMatchObject({ value: 2, replayed: false })
  })
})
