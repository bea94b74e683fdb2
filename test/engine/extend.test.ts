import { engine, isHapaxError } from 'hapax'
import { guard } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../support/manual-clock.js'
import { rejection } from '../support/waiting.js'
import { insertRide, request, workBench } from '../support/work-bench.js'

const day = 24 * 3_600_000

describe('a record that is kept for longer', () => {
  test('expires that much after its answer, and not when its policy said', async () => {
    const bench = await workBench()
    const { hapax, policy, clock } = bench
    const run = () =>
      hapax.run({ ...request, policy }, async (work) => {
        await work.extend('30d')
        return { at: (await bench.record())?.expiresAt }
      })
    const first = await run()
    expect(first.value.at).toBe(clock.now() + 30 * day)
    expect(first.expiresAt?.getTime()).toBe(clock.now() + 30 * day)
    await bench.travel(29 * day)
    expect(await run()).toMatchObject({ replayed: true, generation: 1 })
    await bench.travel(day)
    expect(await run()).toMatchObject({ replayed: false, generation: 2 })
  })

  test('for ever does not expire', async () => {
    const bench = await workBench()
    const run = () =>
      bench.hapax.run({ ...request, policy: bench.policy }, async (work) => {
        await work.extend('forever')
        return work.commit(({ tx }) => insertRide(tx, 'ann'))
      })
    expect((await run()).expiresAt).toBeUndefined()
    await bench.travel(10_000 * day)
    await bench.hapax.chores.reap(10)
    expect(await run()).toMatchObject({ replayed: true, generation: 1 })
    expect(await bench.rides()).toEqual(['ann'])
  })

  test('stays so over attempts and phases', async () => {
    const bench = await workBench()
    const handler = async (attempt: number) =>
      bench.hapax.run({ ...request, policy: bench.policy }, async (work) => {
        if (work.attempt === 1) await work.extend('30d')
        await work.transaction('ride_created', ({ tx }) => insertRide(tx, 'ann'))
        if (attempt === 1) throw new Error('half done')
        return 'done'
      })
    await rejection(handler(1))
    expect(await bench.record()).toMatchObject({
      recoveryPoint: 'ride_created',
      expiresAt: bench.clock.now() + 30 * day,
    })
    await bench.travel(20 * day)
    expect((await handler(2)).expiresAt?.getTime()).toBe(bench.clock.now() + 30 * day)
  })

  test('does not take back what phases have committed', async () => {
    const bench = await workBench()
    await bench.hapax.run({ ...request, policy: bench.policy }, async (work) => {
      await work.transaction('ride_created', ({ tx }) => insertRide(tx, 'ann'))
      await work.extend('30d')
      expect(await bench.record()).toMatchObject({ recoveryPoint: 'ride_created', onLeaseOver: 'resume' })
      expect(work.recoveryPoint).toBe('ride_created')
      return 'done'
    })
  })

  test('is never kept for less than its policy says, or than it was told before', async () => {
    const bench = await workBench()
    const kept = async (key: string, policy: typeof bench.policy, ...given: ('1h' | '30d' | 'forever')[]) => {
      const done = await bench.hapax.run({ ...request, key, policy }, async (work) => {
        for (const retention of given) await work.extend(retention)
        return 'done'
      })
      return done.expiresAt && done.expiresAt.getTime() - bench.clock.now()
    }
    expect(await kept('a', bench.policy, '1h')).toBe(day)
    expect(await kept('b', bench.policy, '30d', '1h')).toBe(30 * day)
    expect(await kept('c', bench.policy, 'forever', '30d')).toBeUndefined()
    const forever = bench.hapax.policy({ name: 'rides.create', retention: 'forever' })
    expect(await kept('d', forever, '30d')).toBeUndefined()
  })

  test('needs a duration', async () => {
    const bench = await workBench()
    const run = bench.hapax.run({ ...request, policy: bench.policy }, (work) => work.extend('soon' as never))
    expect(await rejection(run)).toMatchObject({ code: 'policy_invalid' })
  })

  test('says so in the header of the answer and of its replay', async () => {
    const clock = manualClock()
    const hapax = engine({ store: memoryStore({ clock }), clock })
    const handle = guard(hapax, { name: 'rides.create', scope: () => 'acme' }, async (_request: Request, work) => {
      await work.extend('30d')
      return Response.json({ ride: 1 }, { status: 201 })
    })
    const send = async () => {
      const headers = { 'idempotency-key': '"k"' }
      const response = await handle(new Request('http://localhost/rides', { method: 'POST', headers }))
      return { status: response.status, until: response.headers.get('idempotency-key-expires') }
    }
    const first = await send()
    expect(first.status).toBe(201)
    expect(new Date(first.until ?? '').getTime()).toBe(Math.floor((clock.now() + 30 * day) / 1_000) * 1_000)
    await clock.advance(29 * day)
    expect(await send()).toEqual(first)
  })
})

test('nothing else is written while the retention is: the recovery point stays where it is', async () => {
  const bench = await workBench()
  const { policy } = bench
  const running = bench.hapax.run({ ...request, policy }, async (work) => {
    const extending = work.extend('30d')
    const phase = await work.transaction('ride_created', () => 'ride').catch((error: unknown) => error)
    await extending
    return isHapaxError(phase, 'phase_overlapping') ? 'refused' : phase
  })
  expect(await running).toMatchObject({ value: 'refused' })
})
