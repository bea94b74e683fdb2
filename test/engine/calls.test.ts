import { compareLedgers, engine, HapaxError, isHapaxError, keyOf, limits, scopeOf, type Work } from 'hapax'
import { memoryStore } from 'hapax/memory'
import type { SqliteTransaction } from 'hapax/sqlite'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../support/manual-clock.js'
import { bounded, gate, rejection } from '../support/waiting.js'
import { insertRide, never, request, type WorkBench, workBench } from '../support/work-bench.js'

type Handler = (work: Work<SqliteTransaction>) => Promise<unknown>

const hour = 3_600_000
const run = ({ hapax, policy }: WorkBench, handler: Handler) => hapax.run({ ...request, policy }, handler)

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await rejection(promise)
  return isHapaxError(error) ? error.code : error
}

const reset = () => Promise.reject(new Error('ECONNRESET'))

/** A provider that remembers the keys it was sent, and how often. */
function provider() {
  const sent: string[] = []
  const inputs: unknown[] = []
  return {
    sent,
    inputs,
    charge({ key, input }: { readonly key: string; readonly input?: unknown }) {
      sent.push(key)
      inputs.push(input)
      return { id: `ch_${new Set(sent).size}` }
    },
  }
}

describe('a call', () => {
  test('is on record before it is sent, with its key', async () => {
    const bench = await workBench()
    let seen: unknown
    await run(bench, (work) =>
      work.call('charge', {
        run: async ({ key }) => {
          const { state, isBegun } = (await bench.record()) ?? {}
          const call = (await bench.store.calls.find(key))?.call
          seen = { state, isBegun, phase: call?.phase, callState: call?.state }
          return 1
        },
      }),
    )
    expect(seen).toEqual({ state: 'in_progress', isBegun: true, phase: 'charge', callState: 'begun' })
  })

  test('has its result on record before the handler goes on, and a later attempt is given that', async () => {
    const bench = await workBench()
    const { sent, charge } = provider()
    const handler: Handler = async (work) => {
      const charged = await work.call('charge', { run: charge })
      const { recoveryPoint, isBegun } = (await bench.record()) ?? {}
      if (work.attempt === 1) throw new Error(`${recoveryPoint} ${isBegun}`)
      return charged
    }
    await expect(run(bench, handler)).rejects.toThrow('charge false')
    expect(await run(bench, handler)).toMatchObject({ value: { id: 'ch_1' } })
    expect(sent).toHaveLength(1)
    expect((await bench.store.calls.find(sent[0] ?? ''))?.call.state).toBe('landed')
  })

  test('that throws is doubt, unless somebody says otherwise', async () => {
    const bench = await workBench()
    expect(await codeOf(run(bench, (work) => work.call('charge', { run: reset })))).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'Error', isBegun: true })
    const again = provider()
    expect(await codeOf(run(bench, (work) => work.call('charge', { run: again.charge })))).toBe('outcome_unknown')
    expect(again.sent).toEqual([])
  })

  test('may also be made on a store without transactions', async () => {
    const hapax = engine({ store: memoryStore() })
    const policy = hapax.policy({ name: 'rides.create' })
    const guarded = { ...request, policy }
    expect(await codeOf(hapax.run(guarded, (work) => work.call('charge', { run: reset })))).toBe('outcome_unknown')
    const { sent, charge } = provider()
    const done = await hapax.run({ ...guarded, key: 'other' }, (work) => work.call('charge', { run: charge }))
    expect(done).toMatchObject({ value: { id: 'ch_1' } })
    expect(sent).toHaveLength(1)
  })

  test.each(['answered', 'not_sent'] as const)(
    'whose error means %s is no doubt: the handler decides',
    async (meaning) => {
      const bench = await workBench()
      const handler: Handler = async (work) => {
        const charged = await work.call('charge', { run: reset, classify: () => meaning }).catch(() => 'declined')
        return { charged }
      }
      expect(await run(bench, handler)).toMatchObject({ value: { charged: 'declined' } })
      expect(await bench.record()).toMatchObject({ state: 'completed', isBegun: false })
    },
  )

  test('that its provider refused is known to it since then: its memory of the key is not counted anew', async () => {
    const bench = await workBench({}, { retention: '7d' })
    const { sent, charge } = provider()
    const attempt = (how: () => unknown, meaning: 'answered' | 'doubt') =>
      run(bench, (work) =>
        work.call('charge', {
          run: ({ key }) => {
            charge({ key })
            return how()
          },
          classify: () => meaning,
          honoursKeyFor: '24h',
        }),
      )
    await rejection(attempt(reset, 'answered'))
    await bench.travel(23 * hour)
    await rejection(attempt(reset, 'doubt'))
    expect((await bench.record())?.state).toBe('failed_retryable')
    await bench.travel(2 * hour)
    expect(await codeOf(attempt(() => 1, 'doubt'))).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'downstream_key_forgotten' })
    expect(sent).toHaveLength(2)
  })

  test('that its provider has never seen, by evidence, has its memory of the key counted anew', async () => {
    const bench = await workBench({}, { retention: '7d' })
    const { sent, charge } = provider()
    const attempt = (how: () => unknown) =>
      run(bench, (work) =>
        work.call('charge', {
          run: ({ key }) => {
            charge({ key })
            return how()
          },
          honoursKeyFor: '24h',
        }),
      )
    await rejection(attempt(reset))
    await bench.travel(25 * hour)
    expect(await codeOf(attempt(reset))).toBe('outcome_unknown')
    await bench.travel(60_000)
    const about = { downstreamKey: sent[0] ?? '', by: 'operator:ann', why: 'asked them' }
    expect(await bench.hapax.testify({ ...about, says: 'not_landed' })).toBe('settled')
    await rejection(attempt(reset))
    await bench.travel(23 * hour)
    expect(await attempt(() => 'paid')).toMatchObject({ value: 'paid' })
    expect(sent).toHaveLength(3)
  })

  test('that was not sent is made anew by the next attempt', async () => {
    const bench = await workBench()
    const { sent, charge } = provider()
    await rejection(run(bench, (work) => work.call('charge', { run: reset, classify: () => 'not_sent' })))
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', isBegun: false })
    await run(bench, (work) => work.call('charge', { run: charge }))
    expect(sent).toHaveLength(1)
  })

  test('whose classify throws, or says something else, is doubt', async () => {
    for (const classify of [
      () => {
        throw new Error('no idea')
      },
      () => 'maybe' as never,
    ]) {
      const bench = await workBench()
      await rejection(run(bench, (work) => work.call('charge', { run: reset, classify })))
      expect((await bench.record())?.state).toBe('unknown')
    }
  })

  test('that takes too long is doubt, whatever classify says, and hears that it is over', async () => {
    const bench = await workBench()
    const sending = gate<AbortSignal>()
    const running = run(bench, (work) =>
      work.call('charge', {
        timeout: '3s',
        classify: () => 'not_sent',
        run: ({ signal }) => {
          sending.open(signal)
          return never()
        },
      }),
    )
    const code = codeOf(running)
    const signal = await bounded(sending.opened, 'the call')
    await bench.clock.advance(2_999)
    expect(signal.aborted).toBe(false)
    await bench.clock.advance(1)
    expect(isHapaxError(signal.reason, 'call_timeout')).toBe(true)
    expect(await code).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'call_timeout' })
  })

  test('that is open beats any answer the handler gives', async () => {
    const bench = await workBench()
    const handler: Handler = async (work) => {
      await work.call('charge', { run: reset }).catch(() => {})
      return { status: 200 }
    }
    expect(await codeOf(run(bench, handler))).toBe('outcome_unknown')
    expect((await bench.record())?.state).toBe('unknown')
  })

  test('that is open lets nothing follow it', async () => {
    const bench = await workBench()
    const codes: unknown[] = []
    const { sent, charge } = provider()
    await rejection(
      run(bench, async (work) => {
        await rejection(work.call('charge', { run: reset }))
        codes.push(await codeOf(work.call('second', { run: charge })))
        codes.push(await codeOf(work.transaction('rows', ({ tx }) => insertRide(tx, 'never'))))
        codes.push(await codeOf(work.commit(({ tx }) => insertRide(tx, 'never'))))
        return 'done'
      }),
    )
    expect(codes).toEqual(['outcome_unknown', 'outcome_unknown', 'outcome_unknown'])
    expect(sent).toEqual([])
    expect(await bench.rides()).toEqual([])
  })

  test('whose result is no JSON is doubt: it has landed, and nobody can say how', async () => {
    const bench = await workBench()
    const code = await codeOf(run(bench, (work) => work.call('charge', { run: () => 1n, classify: () => 'answered' })))
    expect(code).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'input_not_json' })
  })

  test('whose result is too large to be kept is doubt', async () => {
    const bench = await workBench()
    const much = () => 'x'.repeat(limits.progressBytes)
    await rejection(run(bench, (work) => work.call('charge', { run: much })))
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'progress_too_large' })
  })

  test('is held as done by a comparison of ledgers when a refusal was returned, and as not done when it was thrown', async () => {
    const bench = await workBench()
    const declined = () => new Error('card_declined')
    await run(bench, (work) => work.call('returned', { run: () => ({ status: 'declined' }) }))
    const throwing = { run: () => Promise.reject(declined()), classify: () => 'answered' as const }
    const other = { ...request, key: 'other', policy: bench.policy }
    await bench.hapax.run(other, (work) => work.call('thrown', throwing).catch(() => 'declined'))
    await bench.travel(1)
    const { missing } = await compareLedgers({ hapax: bench.hapax, ledger: [], settle: '0s' })
    expect(missing.first.map(({ name }) => name)).toEqual(['returned'])
  })

  test('that names no timeout has what its lease leaves', async () => {
    const bench = await workBench({}, { lease: '5s' })
    const said = await run(bench, (work) => work.call('charge', { run: () => 'charged' }))
    expect(said).toMatchObject({ value: 'charged' })
  })

  test.each([
    ['no run', {}],
    ['a lookup that is no function', { run: reset, lookup: 'yes' }],
    ['a timeout that ends after the lease', { run: reset, timeout: '30s' }],
    ['a timeout that leaves no time to say so', { run: reset, timeout: '29500ms' }],
    ['a provider that remembers keys for longer than we do', { run: reset, honoursKeyFor: '32d' }],
  ])('with %s is refused, and nothing is begun', async (_, options) => {
    const bench = await workBench()
    expect(await codeOf(run(bench, (work) => work.call('charge', options as never)))).toMatch(
      /phase_invalid|policy_invalid/,
    )
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', isBegun: false })
  })
})

describe('a provider that honours the key', () => {
  const honours = { honoursKeyFor: '24h' } as const

  test('is asked again with the same key and the input of the first time, and the key is free meanwhile', async () => {
    const bench = await workBench()
    const { sent, inputs, charge } = provider()
    const handler: Handler = (work) =>
      work.call('charge', {
        ...honours,
        input: { cents: 100 * work.attempt, at: new Date(work.attempt) },
        run: (at) => {
          const charged = charge(at)
          if (at.attempt === 1) throw new Error('reset')
          return charged
        },
      })
    await expect(run(bench, handler)).rejects.toThrow('reset')
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', isBegun: true, errorCode: 'Error' })
    await bench.travel(23 * hour)
    expect(await run(bench, handler)).toMatchObject({ value: { id: 'ch_1' } })
    expect(sent[1]).toBe(sent[0])
    expect(inputs).toEqual([
      { cents: 100, at: '1970-01-01T00:00:00.001Z' },
      { cents: 100, at: '1970-01-01T00:00:00.001Z' },
    ])
  })

  test('is not asked again once it may have forgotten the key: that is doubt', async () => {
    const bench = await workBench({}, { retention: '30d' })
    const { sent, charge } = provider()
    await rejection(run(bench, (work) => work.call('charge', { ...honours, run: reset })))
    await bench.travel(24 * hour - limits.keyMemoryMarginMs)
    const handler: Handler = (work) => work.call('charge', { ...honours, run: charge })
    expect(await codeOf(run(bench, handler))).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'downstream_key_forgotten' })
    expect(sent).toEqual([])
  })

  test('remembers it from the first time it was sent, however often it was sent since', async () => {
    const bench = await workBench({}, { retention: '30d' })
    const handler: Handler = (work) => work.call('charge', { ...honours, run: reset })
    for (const _ of [1, 2, 3]) {
      await rejection(run(bench, handler))
      expect((await bench.record())?.state).toBe('failed_retryable')
      await bench.travel(8 * hour)
    }
    await rejection(run(bench, handler))
    expect((await bench.record())?.state).toBe('unknown')
  })

  test('an attempt that sent nothing does not take back what an earlier one has sent', async () => {
    const bench = await workBench({}, { retention: '30d' })
    await rejection(run(bench, (work) => work.call('charge', { ...honours, run: reset })))
    const refusedConnection: Handler = async (work) => {
      await work.call('charge', { ...honours, run: reset, classify: () => 'not_sent' }).catch(() => {})
      return 'not charged, as far as this attempt knows'
    }
    expect(await codeOf(run(bench, refusedConnection))).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', isBegun: true })
    await bench.travel(24 * hour)
    const { sent, charge } = provider()
    await rejection(run(bench, (work) => work.call('charge', { ...honours, run: charge })))
    expect((await bench.record())?.state).toBe('unknown')
    expect(sent).toEqual([])
  })

  test('nobody is told the answer of a handler that caught the error: the call is still to be made', async () => {
    const bench = await workBench()
    const code = codeOf(
      run(bench, async (work) => {
        await work.call('charge', { ...honours, run: reset }).catch(() => {})
        return { paid: true }
      }),
    )
    expect(await code).toBe('outcome_unknown')
    expect((await bench.record())?.state).toBe('failed_retryable')
  })

  test('may remember it as long as the record and its tombstone are kept', async () => {
    const bench = await workBench()
    const { charge } = provider()
    const { policy } = bench
    const done = bench.hapax.run({ ...request, policy }, (work) =>
      work.call('charge', { honoursKeyFor: '31d', run: charge }),
    )
    expect(await done).toMatchObject({ value: { id: 'ch_1' } })
  })

  test('is asked again after a crash in the middle of the call', async () => {
    const bench = await workBench()
    const { sent, charge } = provider()
    const inside = gate()
    const frozen = bench.node()
    void frozen.run({ ...request, policy: frozen.policy({ name: 'rides.create' }) }, (work) =>
      work.call('charge', {
        ...honours,
        run: (at) => {
          charge(at)
          inside.open()
          return never()
        },
      }),
    )
    await bounded(inside.opened, 'the call')
    await bench.travel(31_000)
    await run(bench, (work) => work.call('charge', { ...honours, run: charge }))
    expect(sent).toHaveLength(2)
    expect(new Set(sent).size).toBe(1)
  })
})

describe('a lease', () => {
  test('that is nearly over lets nothing be sent', async () => {
    const bench = await workBench({}, { lease: '30s', onCrash: 'retry' })
    const { sent, charge } = provider()
    const clock = manualClock(bench.clock.now())
    const store = {
      ...bench.store,
      async checkpoint(...args: Parameters<typeof bench.store.checkpoint>) {
        const isDone = await bench.store.checkpoint(...args)
        // The reply takes nearly as long as the lease.
        if (args[1].call?.kind === 'begun') await clock.advance(29_500)
        return isDone
      },
      renew: () => Promise.reject(new HapaxError('store_busy')),
    }
    const frozen = bench.node({ store, storeTimeout: '1m', clock })
    const policy = frozen.policy({ name: 'rides.create', lease: '30s', onCrash: 'retry' })
    const code = await codeOf(frozen.run({ ...request, policy }, (work) => work.call('charge', { run: charge })))
    expect(code).toBe('claim_lost')
    expect(sent).toEqual([])
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', isBegun: false })
  })

  test('that is lost while a call runs makes it hear so, and leaves doubt about it', async () => {
    const bench = await workBench()
    const frozen = bench.node()
    const inside = gate<AbortSignal>()
    const answered = gate()
    const slow = frozen.run({ ...request, policy: frozen.policy({ name: 'rides.create' }) }, (work) =>
      work.call('charge', {
        run: async ({ signal }) => {
          inside.open(signal)
          await answered.opened
          return 'ch_1'
        },
      }),
    )
    await bounded(inside.opened, 'the call')
    await bench.travel(31_000)
    expect(await bench.hapax.chores.sweep(10)).toHaveLength(1)
    answered.open()
    expect(await codeOf(slow)).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'in_progress_lock_expired' })
  })
})

describe('a store that fails', () => {
  test('while a call begins lets nothing be sent, and leaves no doubt about nothing', async () => {
    const bench = await workBench()
    let isCut = true
    const store = {
      ...bench.store,
      checkpoint: async (...args: Parameters<typeof bench.store.checkpoint>) => {
        const isDone = await bench.store.checkpoint(...args)
        if (!isCut) return isDone
        isCut = false
        throw new HapaxError('store_failed', 'the connection was cut')
      },
    }
    const hapax = bench.node({ store })
    const { sent, charge } = provider()
    const guarded = { ...request, policy: hapax.policy({ name: 'rides.create' }) }
    const handler: Handler = (work) => work.call('charge', { run: charge })
    expect(await codeOf(hapax.run(guarded, handler))).toBe('idempotency_store_unavailable')
    expect(sent).toEqual([])
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', isBegun: false })
    expect(await hapax.run(guarded, handler)).toMatchObject({ value: { id: 'ch_1' } })
  })

  test('after a call has landed is asked again until it is on record', async () => {
    const bench = await workBench()
    let failures = 2
    const store = {
      ...bench.store,
      checkpoint: async (...args: Parameters<typeof bench.store.checkpoint>) => {
        if (args[1].call?.kind === 'landed' && failures-- > 0) throw new HapaxError('store_failed', 'cut')
        return bench.store.checkpoint(...args)
      },
    }
    const hapax = bench.node({ store, clock: bench.clock })
    const { sent, charge } = provider()
    const done = hapax.run({ ...request, policy: hapax.policy({ name: 'rides.create' }) }, (work) =>
      work.call('charge', { run: charge }),
    )
    let isDone = false
    void done.finally(() => {
      isDone = true
    })
    for (let turn = 0; turn < 200 && !isDone; turn++) {
      await bench.clock.advance(100)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    expect(await done).toMatchObject({ value: { id: 'ch_1' } })
    expect(sent).toHaveLength(1)
  })
})

describe('a downstream key', () => {
  async function keysOf(name: string, scope = 'acme', key = 'k') {
    const hapax = engine({ store: memoryStore() })
    const policy = hapax.policy({ name: 'rides.create' })
    const made = hapax.run({ scope, key, policy }, async (work) => ({
      asked: await work.downstreamKey(name),
      sent: await work.call(name, { run: ({ key }) => key }),
      child: work.childKey(name),
    }))
    return (await made).value
  }

  test('looks like a UUID, tells nothing, and is the one that is sent', async () => {
    const { asked, sent, child } = await keysOf('charge')
    expect(asked).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(sent).toBe(asked)
    expect(child).not.toBe(asked)
    expect(keyOf(child)).toBe(child)
  })

  test('is the same wherever it is made, and another one for every scope, key and phase', async () => {
    const first = (await keysOf('charge')).sent
    expect((await keysOf('charge')).sent).toBe(first)
    const others = [
      await keysOf('refund'),
      await keysOf('charge', 'bcme'),
      await keysOf('charge', 'acme', 'l'),
      // Length-prefixed: what moves from one part to the next is another key.
      await keysOf('charge', 'acmek', ''.padEnd(1, 'k')),
    ].map(({ sent }) => sent)
    expect(new Set([first, ...others]).size).toBe(5)
  })

  test('is another one for every generation, and the same for every attempt of one', async () => {
    const bench = await workBench({}, { retention: '2h' })
    const keys: [number, number, string][] = []
    const handler: Handler = async (work) => {
      keys.push([work.generation, work.attempt, await work.downstreamKey('charge')])
      if (work.attempt === 1) throw new Error('again')
      return 'done'
    }
    for (const _ of [1, 2]) {
      await rejection(run(bench, handler))
      await run(bench, handler)
      await bench.travel(3 * hour)
    }
    expect(keys.map(([generation, attempt]) => [generation, attempt])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
    ])
    const [a, b, c, d] = keys.map(([, , key]) => key)
    expect(b).toBe(a)
    expect(d).toBe(c)
    expect(c).not.toBe(a)
  })
})

describe('a guarded request inside of another', () => {
  test('runs once under its child key, however often the outer one is tried', async () => {
    const bench = await workBench()
    const inner = bench.hapax.policy({ name: 'seats.take' })
    let taken = 0
    const handler: Handler = async (work) => {
      const key = work.childKey('seat')
      const { value } = await bench.hapax.run({ scope: 'acme', key, policy: inner }, async () => ({ seat: ++taken }))
      if (work.attempt < 3) throw new Error('the outer one fails')
      return value
    }
    await rejection(run(bench, handler))
    await rejection(run(bench, handler))
    expect(await run(bench, handler)).toMatchObject({ value: { seat: 1 } })
    expect(taken).toBe(1)
  })

  test('and once where the outer one is lost with its process', async () => {
    const bench = await workBench({}, { onCrash: 'retry' })
    let taken = 0
    const handlerOf =
      (hapax: WorkBench['hapax']): Handler =>
      async (work) => {
        const policy = hapax.policy({ name: 'seats.take' })
        const child = { scope: 'acme', key: work.childKey('seat'), policy }
        const { value } = await hapax.run(child, async () => ({ seat: ++taken }))
        if (hapax !== frozen) return value
        lost.open()
        return never()
      }
    const lost = gate()
    const frozen = bench.node()
    const policy = frozen.policy({ name: 'rides.create', onCrash: 'retry' })
    void frozen.run({ ...request, policy }, handlerOf(frozen))
    await bounded(lost.opened, 'the inner request')
    await bench.travel(31_000)
    expect(await run(bench, handlerOf(bench.hapax))).toMatchObject({ value: { seat: 1 } })
    expect(taken).toBe(1)
    expect(await bench.store.find({ scope: scopeOf('acme'), key: keyOf('k') })).toMatchObject({ attempt: 2 })
  })
})
