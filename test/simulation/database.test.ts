import { beforeEach, describe, expect, test } from 'vitest'
import { claimed, completion, keys, leaseMs, reservation } from '../../src/conformance/given.js'
import { effect, kind } from '../../src/conformance/given-effects.js'
import type { Claim } from '../../src/engine/record.js'
import type { SingleStep, Step } from '../../src/engine/store.js'
import { type SimulatedDatabase, simulatedDatabase } from './database/database.js'
import { type SimulatedStore, simulatedStore } from './database/simulated-store.js'
import type { SimulatedTx } from './database/simulated-tx.js'
import { type HeldWorld, heldWorld } from './held-world.js'
import { newProcess, type Process } from './world/process.js'

const [k1, k2] = keys(2)
const name = `acme/${k1}`
const asked = () => reservation({ key: k1 ?? expect.fail() })
const completing: Step<string> = { value: 'the value', write: { kind: 'complete', ...completion() } }
const keeping: SingleStep<string> = { value: 'the value', rows: 'keep', completion: completion() }

let world: HeldWorld
let database: SimulatedDatabase
let process1: Process
let one: SimulatedStore
let two: SimulatedStore

beforeEach(() => {
  world = heldWorld()
  database = simulatedDatabase()
  process1 = newProcess('node 1')
  one = simulatedStore(database, world.ports, process1)
  two = simulatedStore(database, world.ports, newProcess('node 2'))
})

/** Lets all of it happen. */
async function through<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  await world.goOn()
  return work
}

const claim = (key = k1): Promise<Claim> => through(claimed(one, { key: key ?? expect.fail() }))

/** A transaction of node 1 that has inserted a row, and written its record where it is told to; it waits for COMMIT then. */
async function openTransaction(held: Claim, upTo: 'rows' | 'record', step: Step<string> = completing) {
  const running = one.transaction(held, async (tx) => {
    await tx.insert('rides', 'r1')
    return step
  })
  running.catch(() => undefined)
  await world.happen('node 1 inserts r1 into rides')
  if (upTo === 'record') await world.happen(`node 1 writes ${name} and its effects`)
  return { running }
}

describe('whoever reserves a key that an open `single` has written', () => {
  const openSingle = async () => {
    const running = one.single(asked(), async () => keeping)
    running.catch(() => undefined)
    for (const step of ['tries to lock', 'reads']) await world.happen(`node 1 ${step} ${name}`)
    await world.happen(`node 1 writes ${name} and its effects`)
    const reserving = two.reserve(asked())
    expect(world.underWay()).toEqual([`node 1 commits ${name}`, `node 2 reserves ${name} (waits)`])
    return { running, reserving }
  }

  test('waits, and replays the answer once that has committed', async () => {
    const { running, reserving } = await openSingle()
    await world.happen(`node 1 commits ${name}`)
    expect(await running).toMatchObject({ kind: 'committed' })
    expect(await through(reserving)).toMatchObject({ kind: 'completed' })
  })

  test('waits, and has the key once that was undone', async () => {
    const { running, reserving } = await openSingle()
    await world.loseRequest(`node 1 commits ${name}`)
    expect(await through(reserving)).toMatchObject({ kind: 'reserved' })
    await expect(through(running)).rejects.toMatchObject({ code: 'store_failed' })
  })
})

describe('a renewal', () => {
  test('does not wait for an open transaction that has not written the record', async () => {
    const held = await claim()
    await openTransaction(held, 'rows')
    const renewing = two.renew(held, leaseMs)
    await world.happen(`node 2 renews ${name}`)
    expect(await renewing).toBe(true)
  })

  test('waits for one that has, and is then told what became of the record', async () => {
    const held = await claim()
    const { running } = await openTransaction(held, 'record')
    const renewing = two.renew(held, leaseMs)
    expect(world.underWay()).toEqual([`node 1 commits ${name}`, `node 2 renews ${name} (waits)`])
    expect([await through(running), await renewing]).toMatchObject([{ value: 'the value' }, false])
  })

  test('of a stale claim waits for nobody', async () => {
    const held = await claim()
    await openTransaction(held, 'record')
    two.renew({ ...held, fence: 7 }, leaseMs).catch(() => undefined)
    expect(world.underWay()).toContain(`node 2 renews ${name}`)
  })
})

test('reading never waits, and sees what is committed', async () => {
  const held = await claim()
  await openTransaction(held, 'record')
  const finding = two.find(held)
  await world.happen(`node 2 reads ${name}`)
  expect(await finding).toMatchObject({ state: 'in_progress' })
  expect([database.records()[0]?.state, database.rows('rides')]).toEqual(['in_progress', []])
})

test('a process that crashes lets go of all that it had locked, and its late COMMIT does nothing', async () => {
  const held = await claim()
  await openTransaction(held, 'record')
  const renewing = two.renew(held, leaseMs)
  world.crash(process1)
  await world.happen(`node 2 renews ${name}`)
  expect(await renewing).toBe(true)
  await world.happenUnheard(`node 1 commits ${name}`)
  expect([database.records()[0]?.state, database.rows('rides')]).toEqual(['in_progress', []])
})

describe('a COMMIT that nobody acknowledged', () => {
  test('is found to have happened by reading back', async () => {
    const { running } = await openTransaction(await claim(), 'record')
    await world.loseReply(`node 1 commits ${name}`)
    await world.happen(`node 1 looks what became of ${name}`)
    expect(await running).toMatchObject({ value: 'the value' })
    expect(database.rows('rides')).toHaveLength(1)
  })

  test('is found not to have happened by reading back', async () => {
    const { running } = await openTransaction(await claim(), 'record')
    await world.loseRequest(`node 1 commits ${name}`)
    await world.happen(`node 1 looks what became of ${name}`)
    await expect(running).rejects.toMatchObject({ code: 'store_failed' })
    expect(database.rows('rides')).toEqual([])
  })

  test('is not guessed about when the reading back breaks, too', async () => {
    const { running } = await openTransaction(await claim(), 'record')
    await world.loseReply(`node 1 commits ${name}`)
    await world.loseRequest(`node 1 looks what became of ${name}`)
    await expect(running).rejects.toThrow('nobody could look what became of it')
  })

  test('is looked for only when whoever has the record by now is done', async () => {
    const held = await claim()
    const checkpoint = { recoveryPoint: 'one', onLeaseOver: 'resume', leaseMs } as const
    const { running } = await openTransaction(held, 'record', {
      value: 'the value',
      write: { kind: 'checkpoint', ...checkpoint },
    })
    await world.loseReply(`node 1 commits ${name}`)
    const next = two.transaction(held, async () => completing)
    next.catch(() => undefined)
    await world.happen(`node 2 writes ${name} and its effects`)
    expect(world.underWay()).toEqual([`node 1 looks what became of ${name} (waits)`, `node 2 commits ${name}`])
    await world.loseRequest(`node 2 commits ${name}`)
    expect(await through(running)).toMatchObject({ value: 'the value' })
    await expect(next).rejects.toMatchObject({ code: 'store_failed' })
  })
})

describe('a batch skips what is locked', () => {
  test('of records', async () => {
    await openTransaction(await claim(), 'rows')
    const other = claimed(two, { key: k2 ?? expect.fail() })
    await world.happen(`node 2 reserves acme/${k2}`)
    await other
    await world.happen(`node 1 writes ${name} and its effects`)
    world.time += leaseMs
    const sweeping = two.sweep(10)
    await world.happen('node 2 sweeps up to 10 records')
    expect((await sweeping).map(({ key }) => key)).toEqual([k2])
  })

  test('of effects', async () => {
    const effects = [effect('a'), effect('b', { sequence: 2 })]
    const held = await claim()
    await through(one.transaction(held, async () => ({ ...completing, effects })))
    const taking = two.effects.claim({ kinds: [kind], limit: 1, leaseMs: 1_000 })
    await world.happen('node 2 takes up to 1 effects')
    const [a] = await taking
    two.effects
      .apply(a ?? expect.fail(), { providerId: undefined, result: Buffer.of() }, async () => {})
      .catch(() => undefined)
    await world.happen(`node 2 finishes effect ${a?.id}`)
    world.time += 1_000
    const rest = one.effects.claim({ kinds: [kind], limit: 10, leaseMs: 1_000 })
    await world.happen('node 1 takes up to 10 effects')
    expect((await rest).map(({ downstreamKey }) => downstreamKey)).toEqual(['down-b'])
  })
})

describe('rows of the application', () => {
  const inserting = ({ tx }: { readonly tx: SimulatedTx }, id: string) => {
    const inserted = tx.insert('rides', id)
    inserted.catch(() => undefined)
    return inserted
  }

  test('with one id are inserted once: the second waits for the first, and fails if that commits', async () => {
    const [first, second] = [one.begin(), two.begin()]
    await through(inserting(first, 'r1'))
    const again = inserting(second, 'r1')
    expect(world.underWay()).toEqual(['node 2 inserts r1 into rides (waits)'])
    await through(first.commit())
    await expect(through(again)).rejects.toMatchObject({ code: '23505' })
    await expect(through(inserting(second, 'r2'))).rejects.toMatchObject({ code: '25P02' })
    expect(database.rows('rides').map(({ id }) => id)).toEqual(['r1'])
  })

  test('never make two transactions wait for each other for ever', async () => {
    const [first, second] = [one.begin(), two.begin()]
    await through(Promise.all([inserting(first, 'r1'), inserting(second, 'r2')]))
    const [ahead, behind] = [inserting(first, 'r2'), inserting(second, 'r1')]
    await world.happen('node 1 inserts r2 into rides')
    await expect(ahead).rejects.toMatchObject({ code: '40P01' })
    await through(behind)
    await through(second.commit())
    expect(
      database
        .rows('rides')
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['r1', 'r2'])
  })
})

describe('a `single` that joins a transaction', () => {
  const inserting = async <T>(tx: SimulatedTx, then: T) => {
    await tx.insert('rides', 'r1')
    return then
  }

  test('commits with it, and not before', async () => {
    const own = one.begin()
    const outcome = await through(one.single(asked(), async ({ tx }) => inserting(tx, keeping), own.tx))
    expect(outcome).toMatchObject({ kind: 'committed' })
    expect([database.records(), database.rows('rides')]).toEqual([[], []])
    await through(own.commit())
    expect([database.records().length, database.rows('rides').length]).toEqual([1, 1])
  })

  test('leaves it as it was when its body fails', async () => {
    const own = one.begin()
    await through(own.tx.insert('rides', 'r0'))
    const failing = one.single(
      asked(),
      ({ tx }) => inserting(tx, keeping).then(() => Promise.reject(new Error('no'))),
      own.tx,
    )
    await expect(through(failing)).rejects.toThrow('no')
    await through(own.commit())
    expect([database.records(), database.rows('rides').map(({ id }) => id)]).toEqual([[], ['r0']])
  })
})

test('two databases with the same in them have the same digest, and any other has another', async () => {
  const empty = database.digest()
  const held = await claim()
  const before = database.digest()
  await openTransaction(held, 'rows')
  const opened = database.digest()
  expect(new Set([empty, before, opened]).size).toBe(3)
  world.crash(process1)
  expect(database.digest()).toBe(before)
  expect(simulatedDatabase().digest()).toBe(empty)
})
