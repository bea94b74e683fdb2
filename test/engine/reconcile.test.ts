import { defaults, type HapaxError, isHapaxError, type LookedUp, limits } from 'hapax'
import { describe, expect, test } from 'vitest'
import { bounded, gate, rejection } from '../support/waiting.js'
import { insertRide, never, type WorkBench, workBench } from '../support/work-bench.js'

const request = { scope: 'acme', key: 'k', input: { who: 'ann' } }
const minute = 60_000

type Lookup = (key: string) => LookedUp<{ id: string }> | undefined | Promise<LookedUp<{ id: string }> | undefined>

interface Given {
  readonly lookup?: Lookup
  readonly run?: () => unknown
  readonly readLag?: '1m'
  readonly result?: 'optional'
  /** What the handler does before it comes by its call. */
  readonly before?: () => void
}

/** A ride whose charge is lost on its way the first time. */
function rides(hapax: WorkBench['hapax'], given: Given) {
  const sent: string[] = []
  const operation = hapax.operation('rides.create', { version: 1 }, async (work, input: { who: string }) => {
    const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, input.who))
    given.before?.()
    const charge = await work.call('charge_created', {
      run: ({ key }) => {
        sent.push(key)
        if (given.run !== undefined) return given.run() as { id: string }
        if (sent.length === 1) throw new Error('ECONNRESET')
        return { id: 'ch_sent_again' }
      },
      ...(given.lookup && { lookup: ({ key }) => given.lookup?.(key) }),
      ...(given.readLag && { readLag: given.readLag }),
      ...(given.result && { result: given.result }),
    })
    return work.commit(() => ({ status: 201, body: { ride, charge } }))
  })
  return { operation, sent }
}

async function inDoubt(given: Given) {
  const bench = await workBench()
  const made = rides(bench.hapax, given)
  const perform = () => bench.hapax.perform({ ...request, operation: made.operation })
  expect(await rejection(perform())).toMatchObject({ code: 'outcome_unknown' })
  return { bench, ...made, perform }
}

/** A charge that nobody can be asked about, and whose process vanished in the middle of it. */
async function vanished() {
  const bench = await workBench()
  const inside = gate<string>()
  const sent: string[] = []
  const charges = (hapax: WorkBench['hapax'], run: (key: string) => Promise<{ id: string }>) =>
    hapax.operation('rides.create', { version: 1 }, (work) =>
      work.call('charge_created', { run: ({ key }) => run(key) }),
    )
  const frozen = bench.node()
  const hanging = charges(frozen, (key) => {
    inside.open(key)
    return never()
  })
  const operation = charges(bench.hapax, async (key) => ({ id: `ch_${sent.push(key)}` }))
  void frozen.perform({ ...request, operation: hanging })
  const downstreamKey = await bounded(inside.opened, 'the call')
  const sweep = async () => {
    await bench.travel(31_000)
    expect(await bench.hapax.chores.sweep(10)).toMatchObject([{ state: 'unknown' }])
  }
  return { bench, downstreamKey, sweep, sent, perform: () => bench.hapax.perform({ ...request, operation }) }
}

const landed: Lookup = () => ({ landed: true, result: { id: 'ch_found' } })
const told = { by: 'webhook:gateway', why: 'event evt_1' }
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))

describe('whoever meets a doubt is told to come back', () => {
  const retryMs = async (promise: Promise<unknown>) => ((await rejection(promise)) as HapaxError).retryAfterMs

  test('when it was looked at, within seconds at first', async () => {
    const bench = await workBench()
    const { operation } = rides(bench.hapax, { lookup: () => undefined })
    const perform = () => bench.hapax.perform({ ...request, operation })
    expect(await retryMs(perform())).toBe(3_000)
    await bench.hapax.chores.reconcile(10)
    const planned = ((await bench.record())?.reconcileAfter ?? 0) - bench.clock.now()
    expect(await retryMs(perform())).toBe(planned + 1_000)
  })

  test('in half a minute where a person has to find out', async () => {
    const bench = await workBench()
    const { operation } = rides(bench.hapax, {})
    const perform = () => bench.hapax.perform({ ...request, operation })
    expect(await retryMs(perform())).toBe(30_000)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['left_to_operator'])
    expect(await retryMs(perform())).toBe(30_000)
  })
})

test('a node that is killed while it looks holds its doubts for less than a minute', async () => {
  const { bench } = await inDoubt({ lookup: landed })
  // Time does not pass in it: one that went on would find its provider silent, and put the doubt off.
  const killed = bench.node()
  rides(killed, { lookup: () => never() })
  void killed.chores.reconcile(10)
  await expect.poll(async () => (await bench.record())?.reconcileAfter).toBeGreaterThan(bench.clock.now())
  expect(await bench.hapax.chores.reconcile(10)).toEqual([])
  await bench.travel(defaults.beginLooksMs + defaults.lookTimeoutMs + 2 * defaults.lookMarginMs - 1)
  expect(await bench.hapax.chores.reconcile(10)).toEqual([])
  await bench.travel(1)
  expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
})

describe('a doubt about a call', () => {
  test('that landed is settled with its result, and the operation goes on behind it without its client', async () => {
    const asked: string[] = []
    const { bench, sent, perform } = await inDoubt({
      lookup: (key) => {
        asked.push(key)
        return { landed: true, result: { id: 'ch_found' } }
      },
    })
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
    expect(asked).toEqual(sent)
    const record = await bench.record()
    expect(record).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'charge_created', isBegun: false })
    expect(record?.evidence).toMatchObject([{ says: 'landed', by: 'reconciler' }])
    expect(await bench.hapax.chores.resume(10)).toMatchObject([{ outcome: { kind: 'answered' } }])
    expect(await perform()).toMatchObject({ value: { charge: { id: 'ch_found' } }, replayed: true })
    expect(sent).toHaveLength(1)
    expect(await bench.rides()).toEqual(['ann'])
    expect(bench.events.filter(({ name }) => name === 'settled')).toMatchObject([{ says: 'landed', by: 'reconciler' }])
  })

  test('that did not land is put off until no slow holder can have sent it, and then made anew', async () => {
    const { bench, sent, perform } = await inDoubt({ lookup: () => ({ landed: false }), readLag: '1m' })
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['put_off'])
    expect((await bench.record())?.state).toBe('unknown')
    await bench.travel(minute + 10_000 - 1)
    expect(await bench.hapax.chores.reconcile(10)).toEqual([])
    await bench.travel(1)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'ride_created' })
    expect(await perform()).toMatchObject({ value: { charge: { id: 'ch_sent_again' } } })
    expect(sent).toHaveLength(2)
    expect(sent[1]).toBe(sent[0])
  })

  test('that did not land is not believed by a database alone whose clock has jumped ahead since the doubt', async () => {
    const { bench, sent } = await inDoubt({ lookup: () => ({ landed: false }), readLag: '1m' })
    await bench.jump(2 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['put_off'])
    expect((await bench.record())?.state).toBe('unknown')
    expect(sent).toHaveLength(1)
    await bench.clock.advance(2 * minute)
    await bench.jump(2 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
  })

  test('that the provider cannot answer yet is asked about again later, and in the end left to a person', async () => {
    let asked = 0
    const { bench } = await inDoubt({ lookup: () => void asked++ as undefined })
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['put_off'])
    expect(await bench.hapax.chores.reconcile(10)).toEqual([])
    for (let round = 2; round < limits.looks; round++) {
      await bench.travel(60 * minute)
      expect(await bench.hapax.chores.reconcile(10)).toEqual(['put_off'])
    }
    await bench.travel(60 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['left_to_operator'])
    expect(asked).toBe(limits.looks)
    await bench.travel(1_000 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual([])
    expect(await bench.record()).toMatchObject({ state: 'unknown', looks: limits.looks })
  })

  test('whose provider is down waits, however often it was asked, and is not left to a person for it', async () => {
    let isDown = true
    const { bench } = await inDoubt({
      lookup: (key) => (isDown ? Promise.reject(new Error('ECONNREFUSED')) : landed(key)),
    })
    for (let round = 0; round < limits.looks + 5; round++) {
      expect(await bench.hapax.chores.reconcile(10)).toEqual(['outage'])
      await bench.travel(60 * minute)
    }
    expect(await bench.record()).toMatchObject({ state: 'unknown', looks: 0 })
    isDown = false
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
  })

  test('whose provider is still down after days is left to a person: something about this one cannot be asked', async () => {
    const { bench } = await inDoubt({ lookup: () => Promise.reject(new Error('ECONNREFUSED')) })
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['outage'])
    await bench.travel(limits.doubtMs)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['outage'])
    await bench.travel(60 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['left_to_operator'])
    const left = { state: 'unknown', errorCode: 'looked_too_often', looks: 0, reconcileAfter: undefined }
    expect(await bench.record()).toMatchObject(left)
    await bench.travel(1_000 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual([])
  })

  test('whose provider does not answer is not waited for for ever', async () => {
    const asked = gate()
    const { bench } = await inDoubt({
      lookup: () => {
        asked.open()
        return never()
      },
    })
    const reconciling = bench.hapax.chores.reconcile(10)
    await bounded(asked.opened, 'the lookup')
    await bench.clock.advance(10_000)
    expect(await reconciling).toEqual(['outage'])
  })

  test('that nobody can be asked about is left to a person at once', async () => {
    const { bench, sent } = await inDoubt({})
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['left_to_operator'])
    await bench.travel(1_000 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual([])
    expect((await bench.record())?.state).toBe('unknown')
    expect(sent).toHaveLength(1)
    expect(bench.events.filter(({ name }) => name === 'left_to_operator')).toHaveLength(1)
  })

  test('is asked about again where the code fails on its way to the call', async () => {
    let isFailing = false
    const { bench } = await inDoubt({
      lookup: landed,
      before: () => {
        if (isFailing) throw new Error('no configuration')
      },
    })
    isFailing = true
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['put_off'])
    isFailing = false
    await bench.travel(60 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
  })

  test('is looked at without running a phase, sending anything or writing a row', async () => {
    const { bench, sent } = await inDoubt({ lookup: () => undefined })
    const before = await bench.record()
    for (const _ of [1, 2, 3]) {
      await bench.hapax.chores.reconcile(10)
      await bench.travel(60 * minute)
    }
    const after = await bench.record()
    expect(after).toMatchObject({ attempt: before?.attempt, fence: before?.fence, recoveryPoint: 'ride_created' })
    expect(after?.progress).toEqual(before?.progress)
    expect(sent).toHaveLength(1)
    expect(await bench.rides()).toEqual(['ann'])
  })

  test('is looked at by one node at a time', async () => {
    let asked = 0
    const given: Given = {
      lookup: () => {
        asked++
        return undefined
      },
    }
    const { bench } = await inDoubt(given)
    const other = bench.node()
    rides(other, given)
    await Promise.all([bench.hapax, other, bench.hapax, other].map(({ chores }) => chores.reconcile(10)))
    expect(asked).toBe(1)
  })

  test('left by a process that vanished is settled in the same way', async () => {
    const bench = await workBench()
    const frozen = bench.node()
    const inside = gate()
    const hanging = rides(frozen, {
      run: () => {
        inside.open()
        return never()
      },
    })
    rides(bench.hapax, { lookup: landed })
    void frozen.perform({ ...request, operation: hanging.operation })
    await bounded(inside.opened, 'the call')
    expect(await bench.hapax.chores.sweep(10)).toEqual([])
    await bench.travel(31_000)
    expect(await bench.hapax.chores.sweep(10)).toMatchObject([{ state: 'unknown' }])
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
  })
})

describe('what somebody says about a call', () => {
  test('after the doubt settles it at once', async () => {
    const { bench, sent, perform } = await inDoubt({})
    await bench.hapax.testify({
      downstreamKey: sent[0] ?? '',
      says: 'landed',
      result: { id: 'ch_told' },
      ...told,
    })
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', evidence: [{ by: 'webhook:gateway' }] })
    expect(await perform()).toMatchObject({ value: { charge: { id: 'ch_told' } } })
    expect(sent).toHaveLength(1)
  })

  test('before the doubt counts when there is one', async () => {
    const { bench, downstreamKey, sweep } = await vanished()
    await bench.hapax.testify({ downstreamKey, says: 'landed', result: { id: 'ch_told' }, ...told })
    expect((await bench.record())?.state).toBe('in_progress')
    await sweep()
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'charge_created' })
  })

  test.each([
    ['landed', 'not_landed'],
    ['not_landed', 'landed'],
  ] as const)('that it landed counts more than that it did not, in whatever order: %s, %s', async (first, second) => {
    const { bench, downstreamKey, sweep, sent, perform } = await vanished()
    await sweep()
    // Both are said so late that "not landed" would be believed.
    await bench.travel(10_000)
    const charge = { id: 'ch_told' }
    const kept = first === 'landed' ? { result: bytes(charge) } : {}
    await bench.store.calls.testify({ downstreamKey, says: first, ...kept, ...told })
    await bench.travel(1)
    const given = second === 'landed' ? { result: charge } : {}
    expect(await bench.hapax.testify({ downstreamKey, says: second, ...given, ...told })).toBe('settled')
    expect(await bench.record()).toMatchObject({ recoveryPoint: 'charge_created', evidence: [{ says: 'landed' }] })
    expect(await perform()).toMatchObject({ value: { id: 'ch_told' } })
    expect(sent).toEqual([])
  })

  test('with the result is not hidden by who only says later that it landed', async () => {
    const { bench, downstreamKey, sweep, sent, perform } = await vanished()
    await bench.hapax.testify({ downstreamKey, says: 'landed', result: { id: 'ch_told' }, ...told })
    await bench.travel(1)
    await bench.hapax.testify({ downstreamKey, says: 'landed', ...told })
    await sweep()
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'charge_created' })
    expect(await perform()).toMatchObject({ value: { id: 'ch_told' } })
    expect(sent).toEqual([])
  })

  test('that it did not land is believed only if it is said when no slow holder can have sent it', async () => {
    const { bench, sent } = await inDoubt({ lookup: () => undefined })
    const [downstreamKey = ''] = sent
    await bench.hapax.testify({ downstreamKey, says: 'not_landed', ...told })
    await bench.travel(10_000)
    // Said too early, it does not come true by waiting.
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['put_off'])
    expect((await bench.record())?.state).toBe('unknown')
    await bench.hapax.testify({ downstreamKey, says: 'not_landed', ...told })
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'ride_created' })
  })

  test('about one attempt is not believed of the next, which carries the same key', async () => {
    const answers: (typeof landed | undefined)[] = []
    const lost = () => {
      throw new Error('ECONNRESET')
    }
    const { bench, sent, perform } = await inDoubt({ run: lost, lookup: (key) => answers.at(-1)?.(key) })
    const [downstreamKey = ''] = sent
    await bench.travel(10_000)
    await bench.hapax.testify({ downstreamKey, says: 'not_landed', ...told })
    expect((await bench.record())?.state).toBe('failed_retryable')
    // The second attempt lands, and its reply is lost as well.
    expect(isHapaxError(await rejection(perform()), 'outcome_unknown')).toBe(true)
    answers.push(landed)
    await bench.travel(60_000)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
    expect(await bench.record()).toMatchObject({ recoveryPoint: 'charge_created', evidence: [{}, { says: 'landed' }] })
    expect(sent).toEqual([downstreamKey, downstreamKey])
  })

  test('before the doubt counts for a handler that is no operation, too', async () => {
    const bench = await workBench()
    const { policy } = bench
    await rejection(
      bench.hapax.run({ ...request, policy }, (work) =>
        work.call('charge_created', {
          run: async ({ key }) => {
            await bench.hapax.testify({ downstreamKey: key, says: 'landed', result: { id: 'ch_told' }, ...told })
            throw new Error('the reply was lost')
          },
        }),
      ),
    )
    await expect.poll(async () => (await bench.record())?.recoveryPoint).toBe('charge_created')
  })

  test('without the result makes the provider be asked for it at once', async () => {
    let isThere = false
    const { bench, sent, perform } = await inDoubt({ lookup: (key) => (isThere ? landed(key) : undefined) })
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['put_off'])
    isThere = true
    expect(await bench.hapax.chores.reconcile(10)).toEqual([])
    await bench.hapax.testify({ downstreamKey: sent[0] ?? '', says: 'landed', ...told })
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
    expect(await perform()).toMatchObject({ value: { charge: { id: 'ch_found' } } })
  })

  test('without the result is not enough where nobody can be asked for it: a person is told what is missing', async () => {
    const { bench, sent, perform } = await inDoubt({})
    const [downstreamKey = ''] = sent
    expect(await bench.hapax.testify({ downstreamKey, says: 'landed', ...told })).toBe('left_to_operator')
    expect(await bench.record()).toMatchObject({
      state: 'unknown',
      errorCode: 'result_missing',
      reconcileAfter: undefined,
    })
    const left = () => bench.events.filter(({ name }) => name === 'left_to_operator')
    expect(left().at(-1)).toMatchObject({ errorCode: 'result_missing' })
    const { length } = left()
    expect(await rejection(perform())).toMatchObject({ code: 'outcome_unknown' })
    await bench.clock.advance(1)
    expect(left()).toHaveLength(length)
    const full = { downstreamKey, says: 'landed', result: { id: 'ch_told' }, ...told } as const
    expect(await bench.hapax.testify(full)).toBe('settled')
    expect(await perform()).toMatchObject({ value: { charge: { id: 'ch_told' } } })
  })

  test('without the result is enough for a handler that goes on without it', async () => {
    const { bench, sent, perform } = await inDoubt({ result: 'optional' })
    expect(await bench.hapax.testify({ downstreamKey: sent[0] ?? '', says: 'landed', ...told })).toBe('settled')
    expect(await perform()).toMatchObject({ value: { ride: { name: 'ann' } } })
    expect(sent).toHaveLength(1)
  })

  test('that it landed is not undone by a provider that does not find it: the call is not made again', async () => {
    const { bench, sent } = await inDoubt({ lookup: () => ({ landed: false }) })
    const said = await bench.hapax.testify({ downstreamKey: sent[0] ?? '', says: 'landed', ...told })
    expect(said).toBe('looked_at_next')
    await bench.travel(60 * minute)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['put_off'])
    expect(await bench.record()).toMatchObject({ state: 'unknown', looks: 1 })
  })

  test('without the result, of a handler that is no operation, is for a person: its lookup cannot be asked', async () => {
    const bench = await workBench()
    const { policy } = bench
    const keys: string[] = []
    await rejection(
      bench.hapax.run({ ...request, policy }, (work) =>
        work.call('charge_created', {
          run: ({ key }) => Promise.reject(new Error(`${keys.push(key)}`)),
          lookup: () => ({ landed: true, result: 1 }),
        }),
      ),
    )
    const evidence = { downstreamKey: keys[0] ?? '', says: 'landed', ...told } as const
    expect(await bench.hapax.testify(evidence)).toBe('left_to_operator')
  })

  test('in words that are no JSON does not keep the provider from being asked', async () => {
    const { bench, sent } = await inDoubt({ lookup: landed })
    const [downstreamKey = ''] = sent
    await bench.store.calls.testify({ downstreamKey, says: 'landed', result: Buffer.from('{'), ...told })
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
  })

  test('settles it on a node that does not know the operation, too', async () => {
    const { bench, sent, perform } = await inDoubt({ lookup: () => undefined })
    const stranger = bench.node()
    expect(await stranger.chores.reconcile(10)).toEqual([])
    await stranger.testify({ downstreamKey: sent[0] ?? '', says: 'landed', result: { id: 'ch_told' }, ...told })
    expect((await bench.record())?.state).toBe('failed_retryable')
    expect(await perform()).toMatchObject({ value: { charge: { id: 'ch_told' } } })
  })

  test('about a call that nobody made, or whose request is over, changes nothing', async () => {
    const { bench, sent, perform } = await inDoubt({ lookup: landed })
    await bench.hapax.testify({ downstreamKey: 'nobody-knows', says: 'landed', ...told })
    await bench.hapax.chores.reconcile(10)
    const { value } = await perform()
    await bench.hapax.testify({ downstreamKey: sent[0] ?? '', says: 'not_landed', ...told })
    expect(await perform()).toMatchObject({ value, replayed: true })
  })
})

test('a doubt that a retry finds is told of as one that a sweeper finds', async () => {
  const bench = await workBench()
  const inside = gate()
  const hangs = () => {
    inside.open()
    return never()
  }
  const { policy } = bench
  void bench.node().run({ ...request, policy }, hangs)
  await bounded(inside.opened, 'the handler')
  await bench.travel(31_000)
  for (const _ of [1, 2]) {
    const error = await rejection(bench.hapax.run({ ...request, policy }, async () => 'second'))
    expect(isHapaxError(error, 'outcome_unknown')).toBe(true)
  }
  expect(bench.events.filter(({ name }) => name === 'swept')).toMatchObject([{ operation: 'rides.create' }])
  expect(await bench.hapax.chores.sweep(10)).toEqual([])
})

test('a doubt that a handler raised by itself is left to a person, with its word', async () => {
  const bench = await workBench()
  const operation = bench.hapax.operation('rides.create', { version: 1 }, (work) => work.doubt('gateway_timeout'))
  const error = await rejection(bench.hapax.perform({ ...request, operation }))
  expect(isHapaxError(error, 'outcome_unknown')).toBe(true)
  expect(await bench.hapax.chores.reconcile(10)).toEqual(['left_to_operator'])
  expect(bench.events).toContainEqual(
    expect.objectContaining({ name: 'left_to_operator', errorCode: 'gateway_timeout' }),
  )
})

test('doubts of a slow provider are asked about a few at once, and put back before another node may take them', async () => {
  const bench = await workBench()
  let running = 0
  const asked: string[] = []
  const { operation } = rides(bench.hapax, {
    run: () => Promise.reject(new Error('ECONNRESET')),
    async lookup(key) {
      asked.push(key)
      running++
      await new Promise<void>((resolve) => void bench.clock.after(9_000, resolve))
      running--
      return { landed: true, result: { id: 'ch_found' } }
    },
  })
  for (let index = 0; index < 30; index++)
    await rejection(bench.hapax.perform({ ...request, key: `k-${index}`, operation }))
  const startedAt = bench.clock.elapsed()
  const pass = bench.hapax.chores.reconcile(64)
  for (const atOnce of [1, 8]) {
    await expect.poll(() => running).toBe(atOnce)
    await bench.clock.advance(9_000)
  }
  const came = await pass
  expect(came.filter((one) => one === 'settled')).toHaveLength(9)
  expect(came.filter((one) => one === 'put_off')).toHaveLength(21)
  expect(bench.clock.elapsed() - startedAt).toBeLessThan(defaults.lookMs)
  expect(new Set(asked).size).toBe(9)
})
