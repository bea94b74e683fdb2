import { describe, expect, test } from 'vitest'
import { claimed, leaseMs, reservation, retentionMs } from '../../src/conformance/given.js'
import { effect, kind } from '../../src/conformance/given-effects.js'
import { lineOf } from './database/line.js'
import { simulatedBatches } from './database/shared-statements.js'
import { asked, completing, heldDatabase, k2, keeping, name } from './held-database.js'
import { newProcess } from './world/process.js'

/** Who waits for whom on the simulated database, and who does not. */

describe('whoever reserves a key that an open `single` has written', () => {
  const openSingle = async () => {
    const { world, one, two, through } = heldDatabase()
    // With an effect, since otherwise the record is written with COMMIT.
    const running = one.single(asked(), async () => ({ ...keeping, effects: [effect('a')] }))
    running.catch(() => undefined)
    for (const step of ['tries to lock', 'reads']) await world.happen(`node 1 ${step} ${name}`)
    await world.happen(`node 1 writes ${name} and its effects`)
    const reserving = two.reserve(asked())
    expect(world.underWay()).toEqual([`node 1 commits ${name}`, `node 2 reserves ${name} (waits)`])
    return { world, through, running, reserving }
  }

  test('waits, and replays the answer once that has committed', async () => {
    const { world, through, running, reserving } = await openSingle()
    await world.happen(`node 1 commits ${name}`)
    expect(await running).toMatchObject({ kind: 'committed' })
    expect(await through(reserving)).toMatchObject({ kind: 'completed' })
  })

  test('waits, and has the key once that was undone', async () => {
    const { world, through, running, reserving } = await openSingle()
    await world.loseRequest(`node 1 commits ${name}`)
    expect(await through(reserving)).toMatchObject({ kind: 'reserved' })
    await expect(through(running)).rejects.toMatchObject({ code: 'store_failed' })
  })
})

describe('a record that an open transaction has changed', () => {
  test('is reserved by nobody, who does not wait to learn that', async () => {
    const { world, two, claim, openTransaction } = heldDatabase()
    await openTransaction(await claim(), 'record')
    const reserving = two.reserve(asked())
    for (const step of ['reserves', 'reads']) await world.happen(`node 2 ${step} ${name}`)
    expect(await reserving).toMatchObject({ kind: 'in_progress' })
  })

  test.each(['happen', 'loseRequest'] as const)(
    'is waited for by a `single` that found none, and has lost the key however that ends: %s',
    async (end) => {
      const { world, one, two, openTransaction, through } = heldDatabase()
      const creating = two.single(asked(), async () => keeping)
      creating.catch(() => undefined)
      for (const step of ['tries to lock', 'reads']) await world.happen(`node 2 ${step} ${name}`)
      const claiming = claimed(one, asked())
      await world.happen(`node 1 reserves ${name}`)
      await openTransaction(await claiming, 'record')
      expect(world.underWay()).toEqual([`node 2 commits ${name} (waits)`, `node 1 commits ${name}`])
      await world[end](`node 1 commits ${name}`)
      await expect(through(creating)).rejects.toMatchObject({ code: 'claim_lost' })
    },
  )

  test('is waited for by whoever found nothing when it began', async () => {
    const { world, one, two, through } = heldDatabase()
    const written = async () => {
      const own = one.begin()
      const running = one.single(asked(), async () => keeping, own.tx)
      for (const step of [`tries to lock ${name}`, `reads ${name}`, `writes ${name} and its effects`])
        await world.happen(`node 1 ${step}`)
      await running
      return () => {
        const committing = own.commit()
        return world.happen('node 1 commits its own transaction').then(() => committing)
      }
    }
    const isWaiting = () => world.underWay().includes(`node 2 reserves ${name} (waits)`)
    const commit = await written()
    const reserving = two.reserve(asked())
    expect(isWaiting()).toBe(true)
    await commit()
    expect(isWaiting()).toBe(false)
    world.time += retentionMs
    const commitAgain = await written()
    expect(isWaiting()).toBe(true)
    await commitAgain()
    expect(await through(reserving)).toMatchObject({ kind: 'completed' })
  })
})

describe('a statement for several keys that has waited', () => {
  test('tells of what was there when it began as that was then, and of what came since nothing', async () => {
    const { world, database, one, through, claim, openTransaction } = heldDatabase()
    const batches = simulatedBatches(lineOf(database, world.ports, newProcess('node 2')))
    const held = await claim()
    const running = one.single(reservation({ key: k2 }), async () => ({ ...keeping, effects: [effect('a')] }))
    running.catch(() => undefined)
    for (const step of ['tries to lock', 'reads']) await world.happen(`node 1 ${step} acme/${k2}`)
    await world.happen(`node 1 writes acme/${k2} and its effects`)
    const inserting = batches.insert([asked(), reservation({ key: k2 })])
    expect(world.underWay()).toContain(`node 2 reserves ${name} and acme/${k2} (waits)`)
    await openTransaction(held, 'record')
    await world.happen(`node 1 commits ${name}`)
    await world.happen(`node 1 commits acme/${k2}`)
    expect(await through(inserting)).toMatchObject([
      { kind: 'known', found: { record: { state: 'in_progress' } } },
      undefined,
    ])
  })
})

describe('a `single` whose record travels with its COMMIT', () => {
  const answered = async () => {
    const { world, one, two, through } = heldDatabase()
    const running = one.single(asked(), async () => keeping)
    running.catch(() => undefined)
    for (const step of ['tries to lock', 'reads']) await world.happen(`node 1 ${step} ${name}`)
    expect(world.underWay()).toEqual([`node 1 commits ${name}`])
    return { world, two, through, running }
  }

  test('commits nothing where somebody has reserved the key meanwhile', async () => {
    const { world, two, running } = await answered()
    const reserving = two.reserve(asked())
    await world.happen(`node 2 reserves ${name}`)
    expect(await reserving).toMatchObject({ kind: 'reserved' })
    await world.happen(`node 1 commits ${name}`)
    await expect(running).rejects.toMatchObject({ code: 'claim_lost' })
  })

  test('is known by its claim where the reply was lost', async () => {
    const { world, through, running } = await answered()
    await world.loseReply(`node 1 commits ${name}`)
    expect(await through(running)).toMatchObject({ kind: 'committed' })
  })
})

describe('a renewal', () => {
  test('does not wait for an open transaction that has not written the record', async () => {
    const { world, two, claim, openTransaction } = heldDatabase()
    const held = await claim()
    await openTransaction(held, 'rows')
    const renewing = two.renew(held, leaseMs)
    await world.happen(`node 2 renews ${name}`)
    expect(await renewing).toBe(true)
  })

  test('waits for one that has, and is then told what became of the record', async () => {
    const { world, two, through, claim, openTransaction } = heldDatabase()
    const held = await claim()
    const { running } = await openTransaction(held, 'record')
    const renewing = two.renew(held, leaseMs)
    expect(world.underWay()).toEqual([`node 1 commits ${name}`, `node 2 renews ${name} (waits)`])
    expect([await through(running), await renewing]).toMatchObject([{ value: 'the value' }, false])
  })

  test('of a stale claim waits for nobody', async () => {
    const { world, two, claim, openTransaction } = heldDatabase()
    const held = await claim()
    await openTransaction(held, 'record')
    two.renew({ ...held, fence: 7 }, leaseMs).catch(() => undefined)
    expect(world.underWay()).toContain(`node 2 renews ${name}`)
  })
})

test('reading never waits, and sees what is committed', async () => {
  const { world, database, two, claim, openTransaction } = heldDatabase()
  const held = await claim()
  await openTransaction(held, 'record')
  const finding = two.find(held)
  await world.happen(`node 2 reads ${name}`)
  expect(await finding).toMatchObject({ state: 'in_progress' })
  expect([database.records()[0]?.state, database.rows('rides')]).toEqual(['in_progress', []])
})

test('a process that crashes lets go of all that it had locked, and its late COMMIT does nothing', async () => {
  const { world, database, process, two, claim, openTransaction } = heldDatabase()
  const held = await claim()
  await openTransaction(held, 'record')
  const renewing = two.renew(held, leaseMs)
  world.crash(process)
  await world.happen(`node 2 renews ${name}`)
  expect(await renewing).toBe(true)
  await world.happenUnheard(`node 1 commits ${name}`)
  expect([database.records()[0]?.state, database.rows('rides')]).toEqual(['in_progress', []])
})

test('a row that arrives late, when its transaction is over, is neither written nor locked', async () => {
  const { world, database, process, one, claim } = heldDatabase()
  const held = await claim()
  const before = database.digest()
  one.transaction(held, ({ insert }) => insert('rides', 'r1').then(() => completing)).catch(() => undefined)
  world.crash(process)
  await world.happenUnheard('node 1 inserts r1 into rides')
  expect(database.digest()).toBe(before)
})

test('a line that breaks lets go of what its transaction had locked, whatever the application makes of it', async () => {
  const { world, one, two, through } = heldDatabase()
  const [first, second] = [one.begin(), two.begin()]
  await through(first.tx.insert('rides', 'r1'))
  const losing = first.tx.insert('rides', 'r2')
  losing.catch(() => undefined)
  await world.loseRequest('node 1 inserts r2 into rides')
  await through(second.tx.insert('rides', 'r1'))
  await expect(losing).rejects.toMatchObject({ code: 'ECONNRESET' })
  await expect(first.commit()).rejects.toMatchObject({ code: 'transaction_ended' })
})

describe('a batch skips what is locked', () => {
  test('of records', async () => {
    const { world, two, claim, openTransaction } = heldDatabase()
    await openTransaction(await claim(), 'rows')
    const other = claimed(two, { key: k2 })
    await world.happen(`node 2 reserves acme/${k2}`)
    await other
    await world.happen(`node 1 writes ${name} and its effects`)
    world.time += leaseMs
    const sweeping = two.sweep(10)
    await world.happen('node 2 sweeps up to 10 records')
    expect((await sweeping).map(({ key }) => key)).toEqual([k2])
  })

  test('of effects', async () => {
    const { world, one, two, through, claim } = heldDatabase()
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
    const rest = await through(one.effects.claim({ kinds: [kind], limit: 10, leaseMs: 1_000 }))
    expect(rest.map(({ downstreamKey }) => downstreamKey)).toEqual(['down-b'])
  })
})
