import { compareLedgers } from 'hapax'
import { describe, expect, test } from 'vitest'
import { bounded, gate, rejection } from '../support/waiting.js'
import { insertRide, never, request, type WorkBench, workBench } from '../support/work-bench.js'

const minute = 60_000
const told = { by: 'operator:ann', why: 'asked them' }
const not = (downstreamKey = '') => ({ downstreamKey, says: 'not_landed', ...told }) as const

/** A handler that makes its calls by itself, and whose process vanished with these keys in its hands. */
async function vanished(...names: readonly string[]) {
  const bench = await workBench()
  const inside = gate<readonly string[]>()
  const run = (hapax: WorkBench['hapax'], then: (keys: readonly string[]) => Promise<unknown>) =>
    hapax.run({ ...request, policy: bench.policy }, async (work) =>
      then(await Promise.all(names.map((name) => work.downstreamKey(name)))),
    )
  void run(bench.node(), (keys) => {
    inside.open(keys)
    return never()
  })
  const keys = await bounded(inside.opened, 'the handler')
  const sweep = async () => {
    await bench.travel(31_000)
    expect(await bench.hapax.chores.sweep(10)).toMatchObject([{ state: 'unknown' }])
  }
  const retry = () => run(bench.hapax, async (keys) => keys)
  return { bench, keys, sweep, retry }
}

describe('a key that a handler was given to make its call by itself', () => {
  test('is not forgotten by a refusal: whoever speaks of it later finds the request', async () => {
    const bench = await workBench({}, { onError: () => 'release' })
    const { hapax, policy, store } = bench
    let key = ''
    const refusing = hapax.run({ ...request, policy }, async (work) => {
      key = await work.downstreamKey('charge')
      throw new Error('not today')
    })
    expect(String(await rejection(refusing))).toContain('not today')
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', errorCode: 'released_late' })
    expect((await store.calls.find(key))?.call).toMatchObject({ phase: 'started' })
  })

  test('is on record before it is given, and begins no call that would keep the record', async () => {
    const bench = await workBench()
    const { hapax, policy, store } = bench
    await hapax.run({ ...request, policy }, async (work) => {
      const key = await work.downstreamKey('charge')
      const found = await store.calls.find(key)
      expect(found?.call).toMatchObject({ phase: 'started', state: 'begun' })
      expect(found?.record).toMatchObject({ state: 'in_progress', isBegun: false })
      expect(await work.downstreamKey('charge')).toBe(key)
    })
    expect((await store.calls.list({ limit: 10 })).calls).toHaveLength(1)
    expect((await bench.record())?.state).toBe('completed')
  })

  test('that did not land lets the handler run again, with the same key', async () => {
    const { bench, keys, sweep, retry } = await vanished('charge')
    await sweep()
    // A handler that was only slow may still send it.
    expect(await bench.hapax.testify(not(keys[0]))).toBe('kept')
    await bench.travel(15 * minute)
    expect(await rejection(retry())).toMatchObject({ code: 'outcome_unknown' })
    expect(await bench.hapax.testify(not(keys[0]))).toBe('settled')
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', evidence: [{ by: 'operator:ann' }] })
    expect(await retry()).toMatchObject({ value: keys })
  })

  test('that a slow holder may still send is not believed to be unsent before the time of its run is over', async () => {
    const { bench, keys, sweep } = await vanished('charge')
    await sweep()
    // Enough for a call of a handler that has ended.
    await bench.travel(11_000)
    expect(await bench.hapax.testify(not(keys[0]))).toBe('kept')
    await bench.travel(15 * minute - 11_000 - 1)
    expect(await bench.hapax.testify(not(keys[0]))).toBe('kept')
    expect((await bench.record())?.state).toBe('unknown')
    await bench.travel(1)
    expect(await bench.hapax.testify(not(keys[0]))).toBe('settled')
  })

  test('that landed is for a person, since nobody knows what the answer is', async () => {
    const { bench, keys, sweep, retry } = await vanished('charge')
    await sweep()
    const landed = { downstreamKey: keys[0] ?? '', says: 'landed', result: { id: 'ch_1' }, ...told } as const
    expect(await bench.hapax.testify(landed)).toBe('left_to_operator')
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'answer_missing' })
    await bench.travel(15 * minute)
    expect(await bench.hapax.testify(not(keys[0]))).toBe('left_to_operator')
    expect(await rejection(retry())).toMatchObject({ code: 'outcome_unknown' })
  })

  test('is spoken of before the doubt, which counts when there is one', async () => {
    const { bench, keys, sweep } = await vanished('charge')
    await bench.hapax.testify({ downstreamKey: keys[0] ?? '', says: 'landed', ...told })
    expect((await bench.record())?.state).toBe('in_progress')
    await sweep()
    expect(await bench.record()).toMatchObject({ errorCode: 'answer_missing', reconcileAfter: undefined })
  })

  test.each([
    [0, 1],
    [1, 0],
  ])('is one of several, which must all be known not to have landed: first %i, then %i', async (first, second) => {
    const { bench, keys, sweep } = await vanished('charge', 'receipt')
    expect(new Set(keys).size).toBe(2)
    await sweep()
    await bench.travel(15 * minute)
    expect(await bench.hapax.testify(not(keys[first]))).toBe('kept')
    expect((await bench.record())?.state).toBe('unknown')
    expect(await bench.hapax.testify(not(keys[second]))).toBe('settled')
  })

  test.each([0, 1])(
    'is one of several, of which number %i landed, and the handler does not run again',
    async (index) => {
      const { bench, keys, sweep, retry } = await vanished('charge', 'receipt')
      await sweep()
      await bench.travel(15 * minute)
      const landed = { downstreamKey: keys[index] ?? '', says: 'landed', ...told } as const
      expect(await bench.hapax.testify(landed)).toBe('left_to_operator')
      expect(await bench.hapax.testify(not(keys[1 - index]))).toBe('left_to_operator')
      expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'answer_missing' })
      expect(await rejection(retry())).toMatchObject({ code: 'outcome_unknown' })
    },
  )

  test('of a handler that raised a doubt by itself is believed not to have landed once the call is over', async () => {
    const bench = await workBench()
    const { hapax, policy } = bench
    let key = ''
    await rejection(
      hapax.run({ ...request, policy }, async (work) => {
        key = await work.downstreamKey('charge')
        work.doubt('gateway_timeout')
      }),
    )
    expect(await hapax.testify(not(key))).toBe('kept')
    await bench.travel(10_000)
    expect(await hapax.testify(not(key))).toBe('settled')
    expect((await bench.record())?.state).toBe('failed_retryable')
  })

  test('is asked for outside of phases', async () => {
    const bench = await workBench()
    const { hapax, policy } = bench
    const asking = hapax.run({ ...request, policy }, (work) =>
      work.transaction('ride_created', async ({ tx }) => {
        await insertRide(tx, await work.downstreamKey('charge'))
      }),
    )
    expect(await rejection(asking)).toMatchObject({ code: 'phase_overlapping' })
    expect(await bench.rides()).toEqual([])
  })

  test('does not make the phases that a resumed handler has not come by yet pass for done', async () => {
    const bench = await workBench()
    const { hapax, policy } = bench
    const handler = () =>
      hapax.run({ ...request, policy }, async (work) => {
        if (work.attempt === 2) await work.downstreamKey('charge')
        const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, 'ann'))
        if (work.attempt === 1) throw new Error('once more')
        return ride
      })
    await rejection(handler())
    expect(await handler()).toMatchObject({ value: { name: 'ann' } })
    expect(await bench.rides()).toEqual(['ann'])
  })

  test('is no difference to the ledger of a provider, whether it has it or not', async () => {
    const bench = await workBench()
    const { hapax, policy } = bench
    const { value } = await hapax.run({ ...request, policy }, (work) =>
      Promise.all([work.downstreamKey('charge'), work.downstreamKey('unused')]),
    )
    const report = await compareLedgers({ hapax, ledger: [{ key: value[0] ?? '' }], settle: '0ms' })
    expect(report).toMatchObject({ orphans: { count: 0 }, open: { count: 0 }, unconfirmed: { count: 0 } })
  })
})
