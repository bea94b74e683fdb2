import { describe, expect, test } from 'vitest'
import { leaseMs } from '../../src/conformance/given.js'
import { simulatedDatabase } from './database/database.js'
import type { SimulatedTx } from './database/simulated-tx.js'
import { asked, completing, heldDatabase, keeping, name } from './held-database.js'

/** What transactions of the simulated database leave behind, however they end. */

describe('a COMMIT that nobody acknowledged', () => {
  test('is found to have happened by reading back', async () => {
    const { world, database, claim, openTransaction } = heldDatabase()
    const { running } = await openTransaction(await claim(), 'record')
    await world.loseReply(`node 1 commits ${name}`)
    await world.happen(`node 1 looks what became of ${name}`)
    expect(await running).toMatchObject({ value: 'the value' })
    expect(database.rows('rides')).toHaveLength(1)
  })

  test('is found not to have happened by reading back', async () => {
    const { world, database, claim, openTransaction } = heldDatabase()
    const { running } = await openTransaction(await claim(), 'record')
    await world.loseRequest(`node 1 commits ${name}`)
    await world.happen(`node 1 looks what became of ${name}`)
    await expect(running).rejects.toMatchObject({ code: 'store_failed' })
    expect(database.rows('rides')).toEqual([])
  })

  test('is not guessed about when the reading back breaks, too', async () => {
    const { world, claim, openTransaction } = heldDatabase()
    const { running } = await openTransaction(await claim(), 'record')
    await world.loseReply(`node 1 commits ${name}`)
    await world.loseRequest(`node 1 looks what became of ${name}`)
    await expect(running).rejects.toThrow('nobody could look what became of it')
  })

  test('is looked for only when whoever has the record by now is done', async () => {
    const { world, two, through, claim, openTransaction } = heldDatabase()
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

describe('a COMMIT that lands after its line broke', () => {
  test('is waited for by whoever looks what became of it', async () => {
    const { world, database, claim, openTransaction } = heldDatabase()
    const { running } = await openTransaction(await claim(), 'record')
    await world.drift(`node 1 commits ${name}`)
    expect(world.underWay()).toEqual([`node 1 commits ${name}`, `node 1 looks what became of ${name} (waits)`])
    expect(database.rows('rides')).toEqual([])
    await world.happen(`node 1 commits ${name}`)
    await world.happen(`node 1 looks what became of ${name}`)
    expect(await running).toMatchObject({ value: 'the value' })
    expect(database.rows('rides')).toHaveLength(1)
  })

  test('lands although its process has crashed meanwhile', async () => {
    const { world, database, process, two, claim, openTransaction } = heldDatabase()
    const held = await claim()
    await openTransaction(held, 'record')
    await world.drift(`node 1 commits ${name}`)
    world.crash(process)
    two.renew(held, leaseMs).catch(() => undefined)
    expect(world.underWay()).toContain(`node 2 renews ${name} (waits)`)
    await world.happenUnheard(`node 1 commits ${name}`)
    expect([database.records()[0]?.state, database.rows('rides').length]).toEqual(['completed', 1])
  })
})

describe('a line that breaks while a statement waits', () => {
  const waiting = async () => {
    const { world, one, two, through, database } = heldDatabase()
    const [first, second] = [one.begin(), two.begin()]
    await through(first.tx.insert('rides', 'r1'))
    await through(second.tx.insert('rides', 'r2'))
    const losing = second.tx.insert('rides', 'r1')
    losing.catch(() => undefined)
    return { world, first, second, losing, through, database }
  }

  test('is noticed by the server when the wait is over: until then its transaction keeps its locks', async () => {
    const { world, first, second, losing, through, database } = await waiting()
    await world.drift('node 2 inserts r1 into rides')
    await expect(losing).rejects.toMatchObject({ code: 'ECONNRESET' })
    await expect(second.commit()).rejects.toMatchObject({ code: 'transaction_ended' })
    expect(database.tables.rows.get('rides\nr2')?.holder).toBeDefined()
    first.rollBack()
    await world.goOn()
    expect(database.tables.rows.size).toBe(0)
    await expect(through(second.tx.get('rides', 'r2'))).rejects.toMatchObject({ code: 'transaction_ended' })
  })

  test('is noticed also where the server refuses it then', async () => {
    const { world, first, through, database } = await waiting()
    await world.drift('node 2 inserts r1 into rides')
    await through(first.commit())
    expect(database.rows('rides').map(({ id }) => id)).toEqual(['r1'])
    expect(database.tables.rows.size).toBe(1)
  })
})

describe('a statement that the server cancels', () => {
  test('by itself has not happened, and the caller is told so', async () => {
    const { world, database, one, claim } = heldDatabase()
    const held = await claim()
    const before = database.digest()
    const renewing = one.renew(held, leaseMs)
    renewing.catch(() => undefined)
    await world.cancel(`node 1 renews ${name}`)
    await expect(renewing).rejects.toMatchObject({ code: 'store_busy' })
    expect(database.digest()).toBe(before)
  })

  test('while it waits for a lock lets the others go on', async () => {
    const { world, two, through, claim, openTransaction } = heldDatabase()
    const held = await claim()
    const { running } = await openTransaction(held, 'record')
    const renewing = two.renew(held, leaseMs)
    renewing.catch(() => undefined)
    expect(world.underWay()).toContain(`node 2 renews ${name} (waits)`)
    await world.cancel(`node 2 renews ${name}`)
    await expect(renewing).rejects.toMatchObject({ code: 'store_busy' })
    expect(await through(running)).toMatchObject({ value: 'the value' })
  })

  test('in a transaction undoes all of it', async () => {
    const { world, database, claim, openTransaction } = heldDatabase()
    const { running } = await openTransaction(await claim(), 'rows')
    await world.cancel(`node 1 writes ${name} and its effects`)
    await expect(running).rejects.toMatchObject({ code: 'store_busy' })
    expect([database.records()[0]?.state, database.rows('rides')]).toEqual(['in_progress', []])
  })

  test('and that is a COMMIT has undone all of it, as reading back finds', async () => {
    const { world, database, claim, openTransaction } = heldDatabase()
    const { running } = await openTransaction(await claim(), 'record')
    await world.cancel(`node 1 commits ${name}`)
    await world.happen(`node 1 looks what became of ${name}`)
    await expect(running).rejects.toMatchObject({ code: 'store_busy' })
    expect([database.records()[0]?.state, database.rows('rides')]).toEqual(['in_progress', []])
  })
})

describe('rows of the application', () => {
  const inserting = ({ tx }: { readonly tx: SimulatedTx }, id: string) => {
    const inserted = tx.insert('rides', id)
    inserted.catch(() => undefined)
    return inserted
  }

  test('with one id are inserted once: the second waits for the first, and fails if that commits', async () => {
    const { world, database, one, two, through } = heldDatabase()
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
    const { database, world, one, two, through } = heldDatabase()
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
    const { database, one, through } = heldDatabase()
    const own = one.begin()
    const outcome = await through(one.single(asked(), async ({ tx }) => inserting(tx, keeping), own.tx))
    expect(outcome).toMatchObject({ kind: 'committed' })
    expect([database.records(), database.rows('rides')]).toEqual([[], []])
    await through(own.commit())
    expect([database.records().length, database.rows('rides').length]).toEqual([1, 1])
  })

  test('has it until its body is over, and no longer', async () => {
    const { database, one, through } = heldDatabase()
    const own = one.begin()
    let handed: SimulatedTx | undefined
    const body = async ({ tx }: { readonly tx: SimulatedTx }) => {
      handed = tx
      return keeping
    }
    await through(one.single(asked(), body, own.tx))
    await expect(handed?.insert('rides', 'late')).rejects.toThrow()
    await through(own.tx.insert('rides', 'r0'))
    await through(own.commit())
    expect(database.rows('rides').map(({ id }) => id)).toEqual(['r0'])
  })

  test('leaves it as it was when its body fails', async () => {
    const { database, one, through } = heldDatabase()
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
  const { world, database, process, claim, openTransaction } = heldDatabase()
  const empty = database.digest()
  const held = await claim()
  const before = database.digest()
  await openTransaction(held, 'rows')
  const opened = database.digest()
  expect(new Set([empty, before, opened]).size).toBe(3)
  world.crash(process)
  expect(database.digest()).toBe(before)
  expect(simulatedDatabase().digest()).toBe(empty)
})
