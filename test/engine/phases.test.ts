import { type Duration, effects as definitions, engine, isHapaxError, type Work } from 'hapax'
import { memoryStore } from 'hapax/memory'
import type { SqliteTransaction } from 'hapax/sqlite'
import { describe, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { ridesIn, schemaOfTest } from '../support/postgres-schema.js'
import { bounded, gate, rejection } from '../support/waiting.js'
import { insertRide, never, request, type WorkBench, workBench } from '../support/work-bench.js'

type Handler = (work: Work<SqliteTransaction>) => Promise<unknown>

const run = ({ hapax, policy }: WorkBench, handler: Handler) => hapax.run({ ...request, policy }, handler)

/** What a run is refused with. */
async function refused(bench: WorkBench, handler: Handler): Promise<string | undefined> {
  const error = await rejection(run(bench, handler))
  return isHapaxError(error) ? error.code : String(error)
}

describe('a phase', () => {
  test('gives its stored result to a later attempt, and its body does not run again', async () => {
    const bench = await workBench()
    let bodies = 0
    const handler: Handler = async (work) => {
      const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, `ride ${++bodies}`))
      if (work.attempt === 1) throw new Error('the process is out of luck')
      return { ride, at: work.recoveryPoint }
    }
    await expect(run(bench, handler)).rejects.toThrow('out of luck')
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'ride_created' })
    expect(await run(bench, handler)).toMatchObject({
      value: { ride: { name: 'ride 1' }, at: 'ride_created' },
      replayed: false,
    })
    expect(await bench.rides()).toEqual(['ride 1'])
    expect(bench.events.filter(({ name }) => name === 'phase_committed')).toHaveLength(1)
  })

  test('passes its result through JSON the first time too', async () => {
    const bench = await workBench()
    const seen: unknown[] = []
    const handler: Handler = async (work) => {
      seen.push(await work.transaction('dated', async () => ({ at: new Date(0), gone: undefined, list: [undefined] })))
      if (work.attempt === 1) throw new Error('again')
      return 'done'
    }
    await rejection(run(bench, handler))
    await run(bench, handler)
    expect(seen[0]).toEqual({ at: '1970-01-01T00:00:00.000Z', list: [null] })
    expect(Object.keys(seen[0] as object)).toEqual(['at', 'list'])
    expect(seen[1]).toEqual(seen[0])
  })

  test('may return nothing, and is not run again for that', async () => {
    const bench = await workBench()
    let bodies = 0
    const handler: Handler = async (work) => {
      const nothing = await work.transaction('silent', async () => void bodies++)
      if (work.attempt === 1) throw new Error('again')
      return { nothing: nothing === undefined }
    }
    await rejection(run(bench, handler))
    expect(await run(bench, handler)).toMatchObject({ value: { nothing: true } })
    expect(bodies).toBe(1)
  })

  test('commits its rows and the recovery point together, or neither', async () => {
    const bench = await workBench()
    const states: unknown[] = []
    await run(bench, async (work) => {
      await work
        .transaction('failing', async ({ tx }) => {
          await insertRide(tx, 'never')
          throw new Error('no')
        })
        .catch(() => {})
      states.push([await bench.rides(), (await bench.record())?.recoveryPoint])
      await work.transaction('good', ({ tx }) => insertRide(tx, 'kept'))
      states.push([await bench.rides(), (await bench.record())?.recoveryPoint])
      return 'done'
    })
    expect(states).toEqual([
      [[], 'started'],
      [['kept'], 'good'],
    ])
  })

  test('that rolled back was never begun: it may run again in the same run', async () => {
    const bench = await workBench()
    const done = await run(bench, async (work) => {
      const taken = (name: string, isQuicker: boolean) =>
        work.transaction('ride_created', async ({ tx }) => {
          await insertRide(tx, name)
          if (isQuicker) throw new Error('somebody was quicker')
          return name
        })
      for (const name of ['one', 'two']) expect(String(await rejection(taken(name, true)))).toContain('quicker')
      return taken('three', false)
    })
    expect(done).toMatchObject({ value: 'three' })
    expect(await bench.rides()).toEqual(['three'])
    expect(bench.events.filter(({ name }) => name === 'phase_committed')).toHaveLength(1)
  })

  test('that rolled back does not keep a refusal from giving the key back', async () => {
    const bench = await workBench({}, { onError: () => 'release' })
    const refusing: Handler = (work) => work.transaction('first', () => Promise.reject(new Error('not in this state')))
    await expect(run(bench, refusing)).rejects.toThrow('not in this state')
    expect(await bench.record()).toBeUndefined()
  })

  test('that is the last, and whose body threw, does not keep a refusal from giving the key back either', async () => {
    const bench = await workBench({}, { onError: () => 'release' })
    const refusing: Handler = (work) => work.commit(() => Promise.reject(new Error('not in this state')))
    await expect(run(bench, refusing)).rejects.toThrow('not in this state')
    expect(await bench.record()).toBeUndefined()
  })

  test('whose result is no JSON rolls its rows back', async () => {
    const bench = await workBench()
    const circle: { self?: unknown } = {}
    circle.self = circle
    const code = await refused(bench, (work) =>
      work.transaction('round', async ({ tx }) => {
        await insertRide(tx, 'never')
        return circle
      }),
    )
    expect(code).toBe('input_not_json')
    expect(await bench.rides()).toEqual([])
  })

  test('whose result is too large to be kept rolls its rows back, and says so', async () => {
    const bench = await workBench()
    const code = await refused(bench, (work) =>
      work.transaction('large', async ({ tx }) => {
        await insertRide(tx, 'never')
        return 'x'.repeat(1024 * 1024)
      }),
    )
    expect(code).toBe('progress_too_large')
    expect(await bench.rides()).toEqual([])
  })

  test('that was interrupted by a frozen process runs in the next, once its lease is over', async () => {
    const bench = await workBench({}, { onCrash: 'retry' })
    const { opened: begun, open: begin } = gate()
    const frozen = bench.node()
    const policy = frozen.policy({ name: 'rides.create', onCrash: 'retry' })
    void frozen.run({ ...request, policy }, async (work) => {
      await work.transaction('first', ({ tx }) => insertRide(tx, 'first'))
      begin()
      return never()
    })
    await bounded(begun, 'the first phase')
    await bench.travel(31_000)
    const second = await run(bench, async (work) => {
      await work.transaction('first', ({ tx }) => insertRide(tx, 'twice'))
      await work.transaction('second', ({ tx }) => insertRide(tx, 'second'))
      return work.attempt
    })
    expect(second).toMatchObject({ value: 2 })
    expect(await bench.rides()).toEqual(['first', 'second'])
  })
})

describe('the name of a phase', () => {
  test.each(['', 'started', 'finished', 'x'.repeat(51), 'naïve', 'two\nlines'])('is not %j', async (name) => {
    const bench = await workBench()
    expect(await refused(bench, (work) => work.transaction(name, async () => 1))).toBe('phase_invalid')
    const calls: string[] = []
    const calling: Handler = (work) => work.call(name, { run: () => calls.push('sent') })
    expect(await refused(bench, calling)).toBe('phase_invalid')
    expect(calls).toEqual([])
  })

  test('is used once in a run, by a phase or by a call', async () => {
    const bench = await workBench()
    const code = await refused(bench, async (work) => {
      await work.transaction('same', async () => 1)
      return work.transaction('same', async () => 2)
    })
    expect(code).toBe('phase_repeated')
    const called = await refused(bench, async (work) => {
      await work.transaction('same', async () => 1)
      return work.call('same', { run: () => 2 })
    })
    expect(called).toBe('phase_repeated')
  })
})

describe('phases come one after another', () => {
  test('a transaction inside of a transaction is refused, and the outer one goes on', async () => {
    const bench = await workBench()
    const codes: unknown[] = []
    await run(bench, async (work) => {
      await work.transaction('outer', async ({ tx }) => {
        codes.push(await codeOf(work.transaction('inner', async () => 1)))
        return insertRide(tx, 'outer')
      })
      return 'done'
    })
    expect(codes).toEqual(['phase_overlapping'])
    expect(await bench.rides()).toEqual(['outer'])
  })

  test('a call inside of a transaction, of the last one too, is refused before anything is sent', async () => {
    const bench = await workBench()
    const codes: unknown[] = []
    let sent = 0
    const send = { run: () => ++sent }
    await run(bench, async (work) => {
      await work.transaction('outer', async () => {
        codes.push(await codeOf(work.call('charge', send)))
      })
      return work.commit(async () => {
        codes.push(await codeOf(work.call('charge', send)))
        codes.push(await codeOf(work.transaction('late', async () => 1)))
        return 'done'
      })
    })
    expect(codes).toEqual(['second_effect', 'second_effect', 'phase_overlapping'])
    expect(sent).toBe(0)
  })

  test('of two calls at once the second is refused before anything is sent', async () => {
    const bench = await workBench()
    const sent: string[] = []
    let second: unknown
    await run(bench, async (work) => {
      const first = work.call('one', { run: () => sent.push('one') })
      second = await codeOf(work.call('two', { run: () => sent.push('two') }))
      await first
      return 'done'
    })
    expect(second).toBe('second_effect')
    expect(sent).toEqual(['one'])
  })

  test('a transaction or a commit while a call is under way is refused', async () => {
    const bench = await workBench()
    const codes: unknown[] = []
    await run(bench, async (work) => {
      await work.call('charge', {
        run: async () => {
          codes.push(await codeOf(work.transaction('inside', async () => 1)))
          return 'ch_1'
        },
      })
      return 'done'
    })
    expect(codes).toEqual(['phase_overlapping'])
  })

  test('a commit that overlaps a phase fails the run, even if its error is caught', async () => {
    const bench = await workBench()
    const code = await refused(bench, async (work) => {
      await work.transaction('outer', async () => void (await work.commit(async () => 'rows').catch(() => {})))
      return 'answered for rows that are not there'
    })
    expect(code).toBe('phase_overlapping')
    expect((await bench.record())?.state).toBe('failed_retryable')
  })

  test('the record is not kept for longer in the middle of a phase', async () => {
    const bench = await workBench()
    let code: unknown
    await run(bench, async (work) => {
      await work.transaction('outer', async () => {
        code = await codeOf(bounded(work.extend('30d'), 'extend'))
      })
      return 'done'
    })
    expect(code).toBe('phase_overlapping')
  })

  test('nothing comes after the answer', async () => {
    const bench = await workBench()
    const codes: unknown[] = []
    let sent = 0
    await run(bench, async (work) => {
      const answer = await work.commit(async () => 'answer')
      codes.push(await codeOf(work.commit(async () => 'second')))
      codes.push(await codeOf(work.transaction('late', async () => 1)))
      codes.push(await codeOf(work.call('late', { run: () => ++sent })))
      codes.push(await codeOf(work.extend('30d')))
      return answer
    })
    expect(codes).toEqual(Array.from({ length: 4 }, () => 'already_answered'))
    expect(sent).toBe(0)
  })

  test('an answer while a call is under way is not believed', async () => {
    const bench = await workBench()
    const { opened: sent, open: send } = gate()
    const sendForEver = () => {
      send()
      return never()
    }
    const code = await refused(bench, async (work) => {
      void work.call('charge', { run: sendForEver }).catch(() => {})
      await sent
      return { charged: 'perhaps' }
    })
    expect(code).toBe('outcome_unknown')
    expect((await bench.record())?.state).toBe('unknown')
  })

  test('not even where that the call begins is not durable yet', async () => {
    const bench = await workBench()
    let sent = 0
    const code = await refused(bench, async (work) => {
      void work.call('charge', { run: () => ++sent }).catch(() => {})
      return { charged: 'perhaps' }
    })
    expect(code).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown' })
  })
})

describe('what is on record is not run over', () => {
  const leftHalfDone: Handler = async (work) => {
    await work.transaction('ride_created', ({ tx }) => insertRide(tx, 'ann'))
    await work.transaction('seat_taken', ({ tx }) => insertRide(tx, 'seat'))
    throw new Error('half done')
  }

  async function afterHalf(handler: Handler, version = 1) {
    const bench = await workBench()
    await rejection(run(bench, leftHalfDone))
    const policy = bench.hapax.policy({ name: 'rides.create', version })
    const error = await rejection(bench.hapax.run({ ...request, policy }, handler))
    return { bench, code: isHapaxError(error) ? error.code : error, record: await bench.record() }
  }
  const doubt = { state: 'unknown', errorCode: 'recovery_point_unknown', recoveryPoint: 'seat_taken' }

  test('by another version: its handler does not even run', async () => {
    let runs = 0
    const { bench, code, record } = await afterHalf(async () => ++runs, 2)
    expect(code).toBe('outcome_unknown')
    expect(record).toMatchObject(doubt)
    expect(runs).toBe(0)
    expect(await bench.rides()).toEqual(['ann', 'seat'])
  })

  test('by a handler whose phases come in another order', async () => {
    let bodies = 0
    const { code, record } = await afterHalf(async (work) => {
      await work.transaction('seat_taken', async () => ++bodies)
      return 'done'
    })
    expect(code).toBe('outcome_unknown')
    expect(record).toMatchObject(doubt)
    expect(bodies).toBe(0)
  })

  test('not even by one that catches what it is told', async () => {
    const { code, record } = await afterHalf(async (work) => {
      await work.transaction('other', async () => 1).catch(() => {})
      return 'done'
    })
    expect(code).toBe('outcome_unknown')
    expect(record).toMatchObject(doubt)
  })

  test('by a handler that answers without coming by all of it', async () => {
    const { code, record } = await afterHalf(async (work) => {
      await work.transaction('ride_created', async () => 'not again')
      return 'done too early'
    })
    expect(code).toBe('outcome_unknown')
    expect(record).toMatchObject(doubt)
  })

  test('nor by one that commits too early', async () => {
    const { bench, code, record } = await afterHalf(async (work) =>
      work.commit(({ tx }) => insertRide(tx, 'too early')),
    )
    expect(code).toBe('outcome_unknown')
    expect(record).toMatchObject(doubt)
    expect(await bench.rides()).toEqual(['ann', 'seat'])
  })

  test('a handler that fails before it comes by them may be tried again', async () => {
    const bench = await workBench()
    await rejection(run(bench, leftHalfDone))
    await rejection(run(bench, async () => Promise.reject(new Error('no connection'))))
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'seat_taken' })
    const done = await run(bench, async (work) => {
      await work.transaction('ride_created', async () => 'not again')
      await work.transaction('seat_taken', async () => 'not again')
      return work.attempt
    })
    expect(done).toMatchObject({ value: 3 })
  })

  test('a half-done request that is refused by its handler is kept as it was', async () => {
    const bench = await workBench({}, { onError: () => 'release' })
    await rejection(run(bench, leftHalfDone))
    await rejection(run(bench, async () => Promise.reject(new Error('not valid any more'))))
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'seat_taken' })
  })

  test('a transaction in the place of a call that is open does not make it disappear', async () => {
    const bench = await workBench()
    const failing = { run: () => Promise.reject(new Error('reset')), honoursKeyFor: '24h' } as const
    await rejection(run(bench, (work) => work.call('charge', failing)))
    let bodies = 0
    expect(await refused(bench, (work) => work.transaction('charge', async () => ++bodies))).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', isBegun: true })
    expect(bodies).toBe(0)
  })
})

describe('a claim that was lost', () => {
  test('makes a phase throw, and its rows roll back', async () => {
    const bench = await workBench({}, { onCrash: 'retry' })
    const frozen = bench.node()
    const policy = frozen.policy({ name: 'rides.create', onCrash: 'retry' })
    const inside = gate()
    const overtaken = gate()
    let thrown: unknown
    const slow = frozen.run({ ...request, policy }, async (work) => {
      inside.open()
      await overtaken.opened
      thrown = await codeOf(work.transaction('late', ({ tx }) => insertRide(tx, 'late')))
      return 'late'
    })
    await inside.opened
    await bench.travel(31_000)
    expect(await run(bench, async () => 'quick')).toMatchObject({ value: 'quick' })
    overtaken.open()
    expect(await slow).toMatchObject({ value: 'quick', replayed: true })
    expect(thrown).toBe('claim_lost')
    expect(await bench.rides()).toEqual([])
  })
})

describe('a phase whose commit was cut off', () => {
  test('is not passed over by the handler: the next attempt reads what is on record', async () => {
    const bench = await workBench()
    const { store } = bench
    const { transaction } = store
    const cut: typeof transaction = async (claim, body) => {
      await transaction(claim, body)
      const { HapaxError } = await import('hapax')
      throw new HapaxError('store_failed', 'the connection was cut')
    }
    const hapax = bench.node({ store: { ...store, transaction: cut }, clock: bench.clock })
    const policy = hapax.policy({ name: 'rides.create' })
    const first = hapax.run({ ...request, policy }, async (work) => {
      await work.transaction('ride_created', ({ tx }) => insertRide(tx, 'ann')).catch(() => {})
      return 'as if nothing had been written'
    })
    await rejection(first)
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'ride_created' })
    await run(bench, async (work) => work.transaction('ride_created', ({ tx }) => insertRide(tx, 'twice')))
    expect(await bench.rides()).toEqual(['ann'])
  })
})

describe('the effects of a phase', () => {
  test('are refused whose provider remembers keys for longer than a tombstone stands', async () => {
    const remembering = definitions({ 'receipt.send': { call: () => ({ sent: true }), honoursKeyFor: '48h' } })
    const send: Handler = async (work) => work.commit(async ({ effect }) => effect('receipt.send', { to: 'ann' }))
    const short = await workBench({ effects: remembering }, { tombstone: '47h' })
    expect(await refused(short, send)).toBe('phase_invalid')
    expect(await short.record()).toMatchObject({ state: 'failed_retryable' })
    const single = short.hapax.policy({ name: 'rides.single', mode: 'transaction', tombstone: '47h' })
    expect(await rejection(short.hapax.run({ ...request, key: 's', policy: single }, send))).toMatchObject({
      code: 'phase_invalid',
    })
    const long = await workBench({ effects: remembering }, { tombstone: '48h' })
    await run(long, send)
    const forever = await workBench({ effects: remembering }, { tombstone: '0s', retention: 'forever' })
    await run(forever, send)
  })

  const effects = definitions({ 'receipt.send': { call: () => ({ sent: true }) } })

  test('may be put off, and are due by the clock of the store then', async () => {
    const bench = await workBench({ effects })
    await run(bench, (work) => work.commit(async ({ effect }) => effect('receipt.send', {}, { delay: '70h' })))
    const claim = () => bench.store.effects.claim({ kinds: ['receipt.send'], limit: 1, leaseMs: 30_000 })
    await bench.travel(70 * 60 * 60_000 - 1)
    expect(await claim()).toEqual([])
    await bench.travel(1)
    expect(await claim()).toHaveLength(1)
  })

  test('are refused that are put off for longer than they may be tried', async () => {
    const bench = await workBench({ effects })
    const put = (delay: Duration) => (work: Work<SqliteTransaction>) =>
      work.commit(async ({ effect }) => effect('receipt.send', {}, { delay }))
    expect(await refused(bench, put('3d'))).toBe('phase_invalid')
    await run(bench, put('71h'))
    const patient = definitions({ 'receipt.send': { call: () => ({ sent: true }), retry: { within: '8d' } } })
    await run(await workBench({ effects: patient }), put('7d'))
  })

  test('belong to the body that asked for them: one that a body asks for after it has failed goes with no other phase', async () => {
    const bench = await workBench({ effects })
    const again = gate()
    let late: Promise<unknown> | undefined
    await run(bench, async (work) => {
      const failing = work.transaction('paid', ({ effect }) => {
        late = rejection(again.opened.then(() => effect('receipt.send', { by: 'the one that failed' })))
        throw new Error('no stock')
      })
      expect(String(await rejection(failing))).toContain('no stock')
      return work.transaction('paid', async ({ effect }) => {
        again.open()
        expect(await late).toMatchObject({ code: 'effect_outside_phase' })
        effect('receipt.send', { by: 'the one that committed' })
        return 'paid'
      })
    })
    expect(await written(bench)).toEqual([['receipt.send', 'paid', 1]])
  })

  test('are all that its body asked for before it returned: one that is asked for later is refused, not lost', async () => {
    const bench = await workBench({ effects })
    let late: Promise<unknown> | undefined
    await run(bench, (work) =>
      work.commit(({ effect }) => {
        late = rejection(new Promise((resolve) => setImmediate(resolve)).then(() => effect('receipt.send', {})))
        effect('receipt.send', {})
        return 'done'
      }),
    )
    expect(await late).toMatchObject({ code: 'effect_outside_phase' })
    expect(await written(bench)).toHaveLength(1)
  })

  const written = async ({ store }: WorkBench) =>
    (await store.effects.list({ limit: 10 })).effects.map(({ kind, phase, sequence }) => [kind, phase, sequence])

  test('commit with it, once, however often its handler runs', async () => {
    const bench = await workBench({ effects })
    const keys: string[] = []
    const handler: Handler = async (work) => {
      await work.transaction('ride_created', async ({ effect }) => {
        effect('receipt.send', { to: 'ann' })
        effect('receipt.send', { to: 'bob' })
      })
      if (work.attempt === 1) throw new Error('again')
      return work.commit(async () => {
        work.effect('receipt.send', { to: 'cyn' })
        return 'done'
      })
    }
    await rejection(run(bench, handler))
    await run(bench, handler)
    expect(await written(bench)).toEqual([
      ['receipt.send', 'ride_created', 1],
      ['receipt.send', 'ride_created', 2],
      ['receipt.send', 'finished', 1],
    ])
    for (const { downstreamKey } of (await bench.store.effects.list({ limit: 10 })).effects) keys.push(downstreamKey)
    expect(new Set(keys).size).toBe(3)
    const told = bench.events.flatMap((event) => (event.name === 'effects_written' ? [event] : []))
    expect(told).toMatchObject([{ count: 2 }, { count: 1 }])
  })

  test('are not there when it rolls back', async () => {
    const bench = await workBench({ effects })
    await rejection(
      run(bench, (work) =>
        work.transaction('ride_created', async ({ effect }) => {
          effect('receipt.send', {})
          throw new Error('no')
        }),
      ),
    )
    expect(await written(bench)).toEqual([])
  })

  test('are asked for inside of one that commits, and by a kind that is defined', async () => {
    const bench = await workBench({ effects })
    const said: unknown[] = []
    const trying = (attempt: () => void) => {
      try {
        attempt()
      } catch (error) {
        said.push(isHapaxError(error) && error.code)
      }
    }
    await run(bench, async (work) => {
      trying(() => work.effect('receipt.send', {}))
      await work.call('charge', { run: () => trying(() => work.effect('receipt.send', {})) })
      return work.commit(async ({ effect }) => {
        trying(() => effect('nobody.knows', {}))
        trying(() => effect('receipt.send', 1n))
        return 'done'
      })
    })
    expect(said).toEqual(['effect_outside_phase', 'effect_outside_phase', 'effect_unknown', 'input_not_json'])
    expect(await written(bench)).toEqual([])
  })

  test('cannot be asked for once it is over', async () => {
    const bench = await workBench({ effects })
    let late: ((kind: string, payload: unknown) => void) | undefined
    await run(bench, async (work) => {
      await work.transaction('ride_created', async ({ effect }) => {
        late = effect
      })
      expect(() => late?.('receipt.send', {})).toThrow(/is over/)
      return 'done'
    })
    expect(await written(bench)).toEqual([])
  })
})

onPostgres('phases and calls on PostgreSQL', (url) => {
  test('are gone on with behind the last that committed, and a doubt is settled by a lookup', async () => {
    const schema = await schemaOfTest(url)
    const { table, names } = await ridesIn(schema)
    const { store } = schema.node()
    const hapax = engine({ store, log: () => {} })
    await hapax.open()
    await schema.setTime(Date.UTC(2026, 0, 1))
    const sent: string[] = []
    const operation = hapax.operation('rides.create', { version: 1 }, async (work, input: { who: string }) => {
      const ride = await work.transaction('ride_created', async ({ tx }) => {
        await tx.query(`INSERT INTO ${table} (name) VALUES ($1)`, [input.who])
        return input.who
      })
      const charge = await work.call('charge_created', {
        run: ({ key }): string => {
          sent.push(key)
          throw new Error('reset')
        },
        lookup: ({ key }) => ({ landed: true, result: `ch_${key}` }),
      })
      if (work.attempt === 2) throw new Error('half done')
      return work.commit(() => ({ status: 201, body: { ride, charge } }))
    })
    const perform = () => hapax.perform({ ...request, operation })
    expect(await rejection(perform())).toMatchObject({ code: 'outcome_unknown' })
    expect(await hapax.chores.reconcile(10)).toEqual(['settled'])
    await expect(perform()).rejects.toThrow('half done')
    await schema.setTime(Date.UTC(2026, 0, 2))
    expect(await hapax.chores.resume(10)).toMatchObject([{ kind: 'ran', outcome: { kind: 'answered' } }])
    expect(await perform()).toMatchObject({ value: { ride: 'ann', charge: `ch_${sent[0]}` }, replayed: true })
    expect(sent).toHaveLength(1)
    expect(await names()).toEqual(['ann'])
    await hapax.close()
  })
})

test('a store without transactions has no phases, and says so before anything runs', async () => {
  const hapax = engine({ store: memoryStore() })
  const policy = hapax.policy({ name: 'rides.create' })
  let bodies = 0
  const error = await rejection(
    hapax.run({ ...request, policy }, (work) => work.transaction('ride_created', async () => ++bodies)),
  )
  expect(isHapaxError(error, 'transaction_unsupported')).toBe(true)
  expect(bodies).toBe(0)
})

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await rejection(promise)
  return isHapaxError(error) ? error.code : error
}
