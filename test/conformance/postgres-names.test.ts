import { randomUUID } from 'node:crypto'
import { type Claim, type Completion, keyOf, type Reservation, type Store, scopeOf } from 'hapax'
import { migratePostgres, postgresStore } from 'hapax/postgres'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ClientLibrary, pgLibrary, postgresJs } from './postgres-libraries.js'
import { direct, pooled, type Reach } from './postgres-ways.js'
import { overheardWire, type Prepared } from './postgres-wire.js'

/** A pooler in transaction mode hands each statement to another server connection, where a name would be unknown. */

describe.each([pgLibrary, postgresJs] as ClientLibrary<unknown>[])('by $name', (library) => {
  const throughPooler = pooled()
  const title = 'no operation of the store prepares a statement under a name where a pooler may be between'
  if ('missing' in throughPooler) test.skip(`${title} (skipped: ${throughPooler.missing})`)
  else
    test(title, async () => {
      const prepared = await preparedByEveryOperation(library, throughPooler)
      expect(prepared.length).toBeGreaterThan(20)
      expect(prepared.filter(({ name }) => name !== '')).toEqual([])
    })

  const toServer = direct()
  const namedTitle = 'every statement is prepared once, under a name, on each connection that is direct'
  if ('missing' in toServer) test.skip(`${namedTitle} (skipped: ${toServer.missing})`)
  else
    test(namedTitle, async () => {
      const prepared = await preparedByEveryOperation(library, toServer)
      expect(prepared.length).toBeGreaterThan(10)
      expect(prepared.filter(({ name }) => name === '')).toEqual([])
      const seen = prepared.map(({ connection, text }) => `${connection} ${text}`)
      expect(new Set(seen).size).toBe(seen.length)
    })
})

test('a postgres.js client that names its own COMMIT is refused, unless no pooler is between', async () => {
  const naming = postgres('postgres://127.0.0.1/none')
  const refusal = expect.objectContaining({ code: 'store_unknown', message: expect.stringContaining('prepare: false') })
  expect(() => postgresStore({ pool: naming })).toThrow(refusal)
  await expect(migratePostgres({ pool: naming })).rejects.toEqual(refusal)
  postgresStore({ pool: naming, connection: 'direct' })
  postgresStore({ pool: postgres('postgres://127.0.0.1/none', { prepare: false }) })
})

async function preparedByEveryOperation(library: ClientLibrary<unknown>, reach: Reach): Promise<readonly Prepared[]> {
  const schema = `hapax_${randomUUID().replaceAll('-', '')}`
  const owner = new pg.Pool({ connectionString: reach.serverUrl, max: 1 })
  const wire = await overheardWire(reach.url)
  const node = library.connect(wire.url, { schema, connection: reach.connection })
  onTestFinished(async () => {
    await node.end()
    await wire.close()
    await owner.query(`DROP SCHEMA ${schema} CASCADE`)
    await owner.end()
  })
  await migratePostgres({ pool: owner, schema })
  await node.store.open()
  // Twice, since a name is of no use before the second time.
  for (const round of ['first', 'second']) await everyOperation(node.store, round)
  return wire.prepared
}

async function everyOperation(store: Store<unknown>, round: string): Promise<void> {
  const claimOf = async (key: string): Promise<Claim> => {
    const verdict = await store.reserve(reservation(`${round} ${key}`))
    if (verdict.kind !== 'reserved') throw new Error(`a new key is reserved, and not ${verdict.kind}`)
    return verdict.claim
  }
  const completed = await claimOf('completed')
  await store.renew(completed, 1_000)
  await store.checkpoint(completed, { recoveryPoint: 'begun', onLeaseOver: 'resume', leaseMs: 1_000 })
  await store.complete(completed, completion)
  await store.reserve(reservation(`${round} completed`))
  await store.fail(await claimOf('failed'), { errorCode: 'failed' })
  await store.release(await claimOf('released'))
  const doubted = await claimOf('doubted')
  await store.doubt(doubted, { errorCode: 'doubted', reconcileAfterMs: 0 })
  const evidence = { by: 'operator', why: 'asked' }
  await store.settle(doubted, { generation: 1, evidence, outcome: { kind: 'not_landed' } })
  await store.sweep(10)
  await store.reap(10)
  await store.find(completed)
  await store.list({ scope: completed.scope, state: 'completed', limit: 10 })
  const phase = { kind: 'checkpoint', recoveryPoint: 'begun', onLeaseOver: 'resume', leaseMs: 1_000 } as const
  const inTransactions = await claimOf('transactions')
  await store.transaction?.(inTransactions, async () => ({ value: 'begun', write: phase }))
  await store.transaction?.(inTransactions, async () => ({ value: 'done', write: { kind: 'complete', ...completion } }))
  await store.examine?.()
}

const completion: Completion = {
  answer: { kind: 'kept', status: 201, headers: [], body: Buffer.from('done') },
  answerVersion: 1,
}

function reservation(key: string): Reservation {
  return {
    scope: scopeOf('acme'),
    key: keyOf(key),
    claimId: randomUUID(),
    operation: 'names',
    fingerprints: ['v1:aa' as Reservation['fingerprints'][0]],
    leaseMs: 60_000,
    retentionMs: 60_000,
    tombstoneMs: 60_000,
    onLeaseOver: 'doubt',
    onExpired: 'run',
  }
}
