import { keyOf, type Store } from 'hapax'
import { migratePostgres, postgresStore } from 'hapax/postgres'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  checkpoint,
  claimed,
  completion,
  failure,
  reason,
  reservation,
  settlement,
} from '../../dist/conformance/given.js'
import { textAt } from '../support/postgres-messages.js'
import { schemaOfTest } from '../support/postgres-schema.js'
import { preparedBy } from '../support/postgres-statements.js'
import { type Heard, postgresWire } from '../support/postgres-wire.js'
import { type ClientLibrary, pgLibrary, postgresJs } from './postgres-libraries.js'
import { direct, pooled, type Reach } from './postgres-ways.js'

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
  const namedTitle = 'every statement but a list is prepared once, under a name, on each connection that is direct'
  if ('missing' in toServer) test.skip(`${namedTitle} (skipped: ${toServer.missing})`)
  else
    test(namedTitle, async () => {
      const all = await preparedByEveryOperation(library, toServer)
      // What operators look for is asked rarely and in many shapes, and is planned for what it asks.
      const prepared = all.filter(({ text }) => !text.includes('row_number()'))
      expect(prepared.length).toBeGreaterThan(10)
      expect(prepared.filter(({ name }) => name === '')).toEqual([])
      const seen = prepared.map(({ connection, text }) => `${connection} ${text}`)
      expect(new Set(seen).size).toBe(seen.length)
    })
})

test('a postgres.js client that names its own COMMIT is refused, unless no pooler is between', async () => {
  const naming = postgres('postgres://127.0.0.1/none')
  const refusal = expect.objectContaining({
    code: 'policy_invalid',
    message: expect.stringContaining('prepare: false'),
  })
  expect(() => postgresStore({ pool: naming })).toThrow(refusal)
  await expect(migratePostgres({ pool: naming })).rejects.toEqual(refusal)
  postgresStore({ pool: naming, connection: 'direct' })
  postgresStore({ pool: postgres('postgres://127.0.0.1/none', { prepare: false }) })
})

async function preparedByEveryOperation(library: ClientLibrary<unknown>, reach: Reach): Promise<readonly Prepared[]> {
  const { schema } = await schemaOfTest(reach.serverUrl)
  const wire = await postgresWire(reach.url)
  const prepared: Prepared[] = []
  wire.listen((heard) => void prepared.push(...preparedIn(heard)))
  const node = library.connect(wire.url, { schema, connection: reach.connection })
  onTestFinished(async () => {
    await node.end()
    await wire.close()
  })
  await node.store.open()
  // Twice, since a name is of no use before the second time.
  for (const round of ['first', 'second']) await everyOperation(node.store, round)
  return prepared
}

interface Prepared {
  /** Empty for a statement without a name. */
  readonly name: string
  readonly text: string
  readonly connection: number
}

/** What a Parse prepares, or a simple Query that says PREPARE. */
function preparedIn({ from, type, body, connection }: Heard): readonly Prepared[] {
  if (from === 'server') return []
  if (type === 'P') return [{ ...preparedBy(body), connection }]
  const text = type === 'Q' ? textAt(body, 0) : ''
  return [...text.matchAll(/\bPREPARE\s+(\w+)/gi)].map(([, name = '']) => ({ name, text, connection }))
}

async function everyOperation(store: Store<unknown>, round: string): Promise<void> {
  const keyed = (key: string) => ({ key: keyOf(`${round} ${key}`) })
  const completed = await claimed(store, keyed('completed'))
  await store.renew(completed, 1_000)
  await store.checkpoint(completed, checkpoint)
  await store.complete(completed, completion())
  await store.reserve(reservation(keyed('completed')))
  await store.fail(await claimed(store, keyed('failed')), failure)
  await store.release(await claimed(store, keyed('released')))
  const doubted = await claimed(store, keyed('doubted'))
  await store.doubt(doubted, reason)
  await store.settle(doubted, settlement({ kind: 'not_landed' }))
  await store.sweep(10)
  await store.abandon({ operations: ['rides.create'], limit: 10 })
  await store.reap(10)
  await store.find(completed)
  await store.list({ scope: completed.scope, state: 'completed', limit: 10 })
  await store.usage('acme', 10)
  const inTransactions = await claimed(store, keyed('transactions'))
  const phase = { kind: 'checkpoint', ...checkpoint } as const
  await store.transaction?.(inTransactions, async () => ({ value: 'begun', write: phase }))
  const last = { kind: 'complete', ...completion() } as const
  await store.transaction?.(inTransactions, async () => ({ value: 'done', write: last }))
  await store.examine?.()
}
