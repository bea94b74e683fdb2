import { randomBytes } from 'node:crypto'
import { isHapaxError, keyOf, limits, scopeOf, scopeParts } from 'hapax'
import { describe, expect, test } from 'vitest'
import { looking } from '../stores/sqlite-fixtures/given.js'
import { bounded, gate, rejection, until } from '../support/waiting.js'
import { insertRide, never, type WorkBench, workBench } from '../support/work-bench.js'

interface Ride {
  readonly who: string
}

const hour = 3_600_000
const request = { scope: 'acme', key: 'k' }
const ann: Ride = { who: 'ann' }

/** Fails after its first phase, as often as it is told to. */
function rides(hapax: WorkBench['hapax'], failures = 0, version = 1) {
  const inputs: Ride[] = []
  const operation = hapax.operation('rides.create', { version }, async (work, input: Ride) => {
    inputs.push(input)
    const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, input.who))
    if (work.attempt <= failures) throw new Error('out of luck')
    return work.commit(() => ({ status: 201, body: { ride, attempt: work.attempt } }))
  })
  return { operation, inputs }
}

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await rejection(promise)
  return isHapaxError(error) ? error.code : error
}

describe('an operation', () => {
  test('runs once per key, and every retry gets the body of its reply', async () => {
    const bench = await workBench()
    const { operation } = rides(bench.hapax)
    const first = await bench.hapax.perform({ ...request, operation, input: ann })
    const retry = await bench.hapax.perform({ ...request, operation, input: ann })
    expect(first).toMatchObject({ value: { ride: { name: 'ann' }, attempt: 1 }, replayed: false })
    expect(retry).toMatchObject({ value: first.value, replayed: true })
    expect(await bench.rides()).toEqual(['ann'])
    expect((await bench.record())?.answer).toMatchObject({ kind: 'kept', status: 201 })
  })

  test('may reply without a body, or give a plain value', async () => {
    const { hapax } = await workBench()
    const silent = hapax.operation('silent', { version: 1 }, () => ({ status: 204 }))
    const plain = hapax.operation('plain', { version: 1 }, (_, input: number) => input + 1)
    expect((await hapax.perform({ ...request, key: 'a', operation: silent, input: 1 })).value).toBeUndefined()
    expect((await hapax.perform({ ...request, key: 'b', operation: plain, input: 1 })).value).toBe(2)
  })

  test('that replies with a 5xx without a body has failed, and may be tried again', async () => {
    const bench = await workBench()
    const operation = bench.hapax.operation('down', { version: 1 }, () => ({ status: 503 }))
    expect(await codeOf(bench.hapax.perform({ ...request, operation, input: 1 }))).toBe('handler_failed')
    expect((await bench.record())?.state).toBe('failed_retryable')
  })

  test('with another input under the same key is another request', async () => {
    const { hapax } = await workBench()
    const { operation } = rides(hapax)
    await hapax.perform({ ...request, operation, input: ann })
    const other = hapax.perform({ ...request, operation, input: { who: 'bob' } })
    expect(await codeOf(other)).toBe('idempotency_key_reused_with_different_payload')
  })

  test('has its input as it passed through JSON, the first time too', async () => {
    const { hapax } = await workBench()
    const seen: unknown[] = []
    const operation = hapax.operation('dated', { version: 1 }, (_, input: { at: Date; gone?: undefined }) => {
      seen.push(input)
      return 1
    })
    await hapax.perform({ ...request, operation, input: { at: new Date(0), gone: undefined } })
    expect(seen).toEqual([{ at: '1970-01-01T00:00:00.000Z' }])
  })

  test('is found by its scope and key, whatever else the object holds that names it', async () => {
    const { hapax } = await workBench()
    const { operation } = rides(hapax)
    const named = { ...request, operation, input: ann }
    await hapax.perform(named)
    expect(await hapax.find({ ...named, scope: scopeOf('acme'), key: keyOf('k') })).toMatchObject({
      state: 'completed',
    })
  })

  test('whose input is no JSON, or too large to be kept, is refused before anything is stored', async () => {
    const bench = await workBench()
    const { hapax } = bench
    const operation = hapax.operation('any', { version: 1 }, (_, input: unknown) => input)
    expect(await codeOf(hapax.perform({ ...request, operation, input: new Map() }))).toBe('input_not_json')
    const large = 'x'.repeat(limits.progressBytes)
    expect(await codeOf(hapax.perform({ ...request, operation, input: large }))).toBe('progress_too_large')
    expect(await bench.record()).toBeUndefined()
  })

  test('has a name of its own, a version and a handler', async () => {
    const { hapax } = await workBench()
    rides(hapax)
    expect(() => rides(hapax)).toThrow(/Two operations are named "rides.create"/)
    expect(() => hapax.operation('x', { version: 0 }, () => 1)).toThrow(/version/)
    expect(() => hapax.operation('y', { version: 1 }, undefined as never)).toThrow(/last argument/)
  })

  test('of another engine is not performed by this one', async () => {
    const bench = await workBench()
    const { operation } = rides(bench.node())
    expect(await codeOf(bench.hapax.perform({ ...request, operation, input: ann }))).toBe('operation_unknown')
  })
})

describe('an operation that was left half-done', () => {
  test('is finished in the background from its stored input, and its client finds the answer', async () => {
    const bench = await workBench()
    const { operation, inputs } = rides(bench.hapax, 1)
    await rejection(bench.hapax.perform({ ...request, operation, input: ann }))
    expect(await bench.hapax.chores.resume(10)).toEqual([])
    await bench.travel(hour)
    expect(await bench.hapax.chores.resume(10)).toMatchObject([{ kind: 'ran', outcome: { kind: 'answered' } }])
    expect(inputs).toEqual([ann, ann])
    expect(await bench.hapax.perform({ ...request, operation, input: ann })).toMatchObject({
      value: { attempt: 2 },
      replayed: true,
    })
    expect(await bench.rides()).toEqual(['ann'])
    expect(await bench.hapax.chores.resume(10)).toEqual([])
  })

  test('is told whose it is, also where no request tells it: on a retry by a worker, and when its call is looked up', async () => {
    const bench = await workBench()
    const tenants: string[] = []
    const operation = bench.hapax.operation('rides.create', { version: 1 }, async (work) => {
      tenants.push(`${scopeParts(work.scope).tenant} ${scopeParts(work.scope).principal}`)
      if (tenants.length === 1) throw new Error('out of luck')
      await work.call('charged', {
        run: () => Promise.reject(new Error('ECONNRESET')),
        lookup: () => ({ landed: true, result: 1 }) as const,
      })
      return 'paid'
    })
    const scope = { tenant: 'a/b;c', principal: 'usr=7' }
    await rejection(bench.hapax.perform({ scope, key: 'k', operation, input: ann }))
    await bench.travel(hour)
    await bench.hapax.chores.resume(10)
    expect(await bench.hapax.chores.reconcile(10)).toEqual(['settled'])
    expect(tenants).toEqual(['a/b;c usr=7', 'a/b;c usr=7', 'a/b;c usr=7'])
  })

  test('by a process that vanished is finished by another, once the lease is over', async () => {
    const bench = await workBench()
    const frozen = bench.node()
    const inside = gate()
    const hanging = frozen.operation('rides.create', { version: 1 }, async (work, input: Ride) => {
      await work.transaction('ride_created', ({ tx }) => insertRide(tx, input.who))
      inside.open()
      return never()
    })
    const { inputs } = rides(bench.hapax)
    void frozen.perform({ ...request, operation: hanging, input: ann })
    await bounded(inside.opened, 'the first phase')
    expect(await bench.hapax.chores.resume(10)).toEqual([])
    await bench.travel(31_000)
    expect(await bench.hapax.chores.resume(10)).toMatchObject([{ kind: 'ran' }])
    expect(inputs).toEqual([ann])
    expect(await bench.record()).toMatchObject({ state: 'completed', attempt: 2 })
    expect(await bench.rides()).toEqual(['ann'])
  })

  test('is finished once, by however many nodes that try at the same time', async () => {
    const bench = await workBench()
    const { operation } = rides(bench.hapax, 1)
    const other = bench.node()
    rides(other, 1)
    await rejection(bench.hapax.perform({ ...request, operation, input: ann }))
    await bench.travel(hour)
    const all = await Promise.all([bench.hapax, other, bench.hapax, other].map(({ chores }) => chores.resume(10)))
    const ran = all.flat().filter(({ kind }) => kind === 'ran')
    expect(ran).toHaveLength(1)
    expect(await bench.record()).toMatchObject({ state: 'completed', attempt: 2 })
  })

  test('is left alone by a node that does not know it', async () => {
    const bench = await workBench()
    const { operation } = rides(bench.hapax, 1)
    await rejection(bench.hapax.perform({ ...request, operation, input: ann }))
    await bench.travel(hour)
    const stranger = bench.node()
    expect(await stranger.chores.resume(10)).toEqual([])
    stranger.operation('others', { version: 1 }, () => 1)
    expect(await stranger.chores.resume(10)).toEqual([])
    expect((await bench.record())?.state).toBe('failed_retryable')
  })

  test('by another version is doubt, not a fresh start', async () => {
    const bench = await workBench()
    const { operation } = rides(bench.hapax, 1)
    await rejection(bench.hapax.perform({ ...request, operation, input: ann }))
    await bench.travel(hour)
    const deployed = bench.node()
    const { inputs } = rides(deployed, 0, 2)
    await deployed.chores.resume(10)
    expect(inputs).toEqual([])
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'recovery_point_unknown' })
  })

  test('before its first phase goes on with another version: there is nothing that it could contradict', async () => {
    const bench = await workBench()
    const early = bench.hapax.operation('rides.create', { version: 1 }, () => Promise.reject(new Error('early')))
    await rejection(bench.hapax.perform({ ...request, operation: early, input: ann }))
    await bench.travel(hour)
    const deployed = bench.node()
    const { inputs } = rides(deployed, 0, 2)
    await deployed.chores.resume(10)
    expect(inputs).toEqual([ann])
    expect((await bench.record())?.state).toBe('completed')
  })

  test('goes on by itself a bounded number of times, and then waits for its client, which a person is told', async () => {
    const bench = await workBench({}, {})
    const { operation } = rides(bench.hapax, limits.resumeAttempts)
    await rejection(bench.hapax.perform({ ...request, operation, input: ann }))
    let resumed = 0
    for (let round = 0; round < limits.resumeAttempts + 2; round++) {
      await bench.travel(hour)
      resumed += (await bench.hapax.chores.resume(10)).length
    }
    expect(resumed).toBe(limits.resumeAttempts - 1)
    const { records } = await bench.store.list({ state: 'failed_retryable', limit: 100 })
    expect(records.filter(({ errorCode }) => errorCode === 'resumed_too_often')).toHaveLength(1)
    expect(bench.events.filter(({ name }) => name === 'left_to_operator')).toEqual([
      expect.objectContaining({ operation: 'rides.create', errorCode: 'resumed_too_often' }),
    ])
    expect(bench.events.filter(({ name }) => name === 'failed').at(-1)).toMatchObject({ errorCode: 'Error' })
    const last = await bench.hapax.perform({ ...request, operation, input: ann })
    expect(last.value).toMatchObject({ attempt: limits.resumeAttempts + 1 })
  })

  test('that ends its process each time is left to a person in the end', async () => {
    const bench = await workBench()
    const hanging = (hapax: WorkBench['hapax']) => hapax.operation('poison', { version: 1 }, never)
    const held = (attempt: number) => until(bench.record, (record) => record?.attempt === attempt)
    const frozen = bench.node()
    void frozen.perform({ ...request, operation: hanging(frozen), input: ann })
    await held(1)
    for (let round = 1; round < limits.resumeAttempts; round++) {
      await bench.travel(31_000)
      const node = bench.node()
      hanging(node)
      void node.chores.resume(10)
      await held(round + 1)
    }
    await bench.travel(31_000)
    hanging(bench.hapax)
    expect(await bench.hapax.chores.resume(10)).toEqual([{ kind: 'not_ours' }])
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', errorCode: 'resumed_too_often' })
    expect(bench.events).toContainEqual(expect.objectContaining({ name: 'left_to_operator' }))
    await bench.travel(hour)
    expect(await bench.hapax.chores.resume(10)).toEqual([])
  }, 60_000)
})

describe('what is kept of an operation, with encryption', () => {
  const keys = { old: randomBytes(32), new: randomBytes(32).toString('base64') }
  const secret = { who: 'ann of green gables' }
  const kept = async (bench: WorkBench) => Buffer.from((await bench.record())?.progress ?? [])

  async function halfDone(encryption: object | undefined) {
    const bench = await workBench(encryption === undefined ? {} : { encryption: encryption as never })
    const { operation } = rides(bench.hapax, 1)
    await rejection(bench.hapax.perform({ ...request, operation, input: secret }))
    await bench.travel(hour)
    return bench
  }

  test('does not hold the input, nor what phases returned', async () => {
    const open = await halfDone(undefined)
    expect((await kept(open)).includes('green gables')).toBe(true)
    const sealed = await halfDone({ current: 'old', keys })
    const bytes = await kept(sealed)
    expect(bytes.byteLength).toBeGreaterThan(50)
    expect(bytes.includes('green gables')).toBe(false)
    expect(await sealed.hapax.chores.resume(10)).toMatchObject([{ outcome: { kind: 'answered' } }])
  })

  test('can be read after the key was changed, as long as the old one is named', async () => {
    const bench = await halfDone({ current: 'old', keys })
    const rotated = bench.node({ encryption: { current: 'new', keys } })
    const { inputs } = rides(rotated)
    expect(await rotated.chores.resume(10)).toMatchObject([{ outcome: { kind: 'answered' } }])
    expect(inputs).toEqual([secret])
  })

  test('can be read where it was kept without encryption before', async () => {
    const bench = await halfDone(undefined)
    const node = bench.node({ encryption: { current: 'new', keys } })
    rides(node)
    expect(await node.chores.resume(10)).toMatchObject([{ outcome: { kind: 'answered' } }])
  })

  test('is not lost by a node that does not know the key: it fails there, and goes on elsewhere', async () => {
    const bench = await halfDone({ current: 'old', keys })
    const poor = bench.node({ encryption: { current: 'new', keys: { new: keys.new } } })
    const { operation, inputs } = rides(poor)
    expect(await poor.chores.resume(10)).toMatchObject([{ outcome: { error: { code: 'progress_unreadable' } } }])
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'ride_created' })
    const error = await rejection(poor.perform({ ...request, operation, input: secret }))
    expect(error).toMatchObject({ code: 'progress_unreadable', retryable: true })
    expect(inputs).toEqual([])
    await bench.travel(hour)
    expect(await bench.hapax.chores.resume(10)).toMatchObject([{ outcome: { kind: 'answered' } }])
    expect(await bench.rides()).toEqual([secret.who])
  })

  test.each([
    [
      'was changed',
      (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte))),
    ],
    ['was cut', (bytes: Buffer) => bytes.subarray(0, bytes.length - 4)],
    ['is of another kind', (bytes: Buffer) => Buffer.concat([Buffer.from([1, 3]), bytes.subarray(5)])],
  ])('is refused when it %s', async (_, change) => {
    const bench = await halfDone({ current: 'old', keys })
    const { progress } = (await bench.record()) ?? {}
    const changed = change(Buffer.from(progress ?? []))
    looking(bench.path, (database) => database.prepare('UPDATE hapax_records SET progress = ?').run([changed]))
    expect(await bench.hapax.chores.resume(10)).toMatchObject([{ outcome: { error: { code: 'progress_unreadable' } } }])
    expect(await bench.rides()).toEqual([secret.who])
  })

  test('is refused when it was moved to another record', async () => {
    const bench = await halfDone({ current: 'old', keys })
    const other = bench.hapax.operation('rides.other', { version: 1 }, () => Promise.reject(new Error('no')))
    await rejection(bench.hapax.perform({ ...request, key: 'other', operation: other, input: ann }))
    const { progress = new Uint8Array() } = (await bench.record('other')) ?? {}
    looking(bench.path, (database) => database.prepare('UPDATE hapax_records SET progress = ?').run([progress]))
    expect(await bench.hapax.chores.resume(1)).toMatchObject([{ outcome: { error: { code: 'progress_unreadable' } } }])
  })

  test('needs a key of 32 bytes, and one that is named to encrypt with', async () => {
    const bench = await workBench()
    const make = (encryption: never) => () => bench.node({ encryption })
    expect(make({ current: 'a', keys: { a: Buffer.alloc(16) } } as never)).toThrow(/16 bytes/)
    expect(make({ current: 'b', keys: { a: Buffer.alloc(32) } } as never)).toThrow(/no key "b"/)
  })
})
