import { postgresStore } from 'hapax/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { effect } from '../../dist/conformance/given-effects.js'
import { onPostgres } from '../support/on-postgres.js'
import { recorded, type Sent } from '../support/postgres-recorded.js'
import { type FreshSchema, freshSchema, schemaOfTest } from '../support/postgres-schema.js'
import { claimed } from './given.js'

/** Who waits in an order costs those nothing who claim, and is not forgotten. */

const asked = { kinds: ['receipt.send'], limit: 64, leaseMs: 10_000 }
const done = { kind: 'done', providerId: undefined, result: Buffer.from('{}') } as const
const dead = { kind: 'dead', errorCode: 'card_closed' } as const

onPostgres('behind one dead effect, 100,000 of its order', (url) => {
  let given: FreshSchema
  let outbox: ReturnType<typeof outboxOf>

  beforeAll(async () => {
    given = await freshSchema(url)
    outbox = outboxOf(given)
    for (let batch = 0; batch <= 10; batch++) await outbox.write(`batch ${batch}`, batch === 0 ? 1 : 10_000)
    const [first] = await outbox.effects.claim(asked)
    if (first === undefined) throw new Error('the first of an order can be claimed')
    await outbox.effects.settle([{ claim: first, outcome: dead }])
    await given.owner.query(`VACUUM (ANALYZE) ${given.schema}.effect_states`)
  }, 120_000)

  afterAll(() => given?.dispose())

  test('a claim reads none of them, and who looks for one that was not told reads one', async () => {
    const { rows } = await given.owner.query(`SELECT count(*) FROM ${given.schema}.effect_states WHERE state = 'ready'`)
    expect(rows).toEqual([{ count: '100000' }])
    outbox.sent.length = 0
    expect(await outbox.effects.claim(asked)).toEqual([])
    const read = await Promise.all(outbox.sent.map((statement) => readBy(given, statement)))
    expect(read).toHaveLength(2)
    for (const { rows, pages } of read) {
      expect(rows).toBeLessThan(10)
      expect(pages).toBeLessThan(100)
    }
  })

  test('an effect of another order is written, claimed and settled past them, and that reads as little', async () => {
    outbox.sent.length = 0
    await outbox.write('another', 1, 'ride 8')
    const writing = outbox.sent.filter(({ text }) => text.includes('effect_states'))
    const [other, ...none] = await outbox.effects.claim(asked)
    if (other === undefined) throw new Error('another order is not held up')
    expect(none).toEqual([])
    outbox.sent.length = 0
    expect(await outbox.effects.settle([{ claim: other, outcome: done }])).toEqual([true])
    const [insert, ...others] = writing
    const { rows: plan } = await given.owner.query({
      text: `EXPLAIN ${insert?.text}`,
      values: [...(insert?.values ?? [])],
    })
    expect(others).toEqual([])
    expect(JSON.stringify(plan)).toContain('using effect_states_order')
    expect(JSON.stringify(plan)).not.toContain('Seq Scan')
    const read = await Promise.all(outbox.sent.map((statement) => readBy(given, statement)))
    expect(read).toHaveLength(2)
    for (const { rows, pages } of read) {
      expect(rows).toBeLessThan(10)
      expect(pages).toBeLessThan(100)
    }
  })
})

onPostgres('one whose turn has come, and whom nobody told', (url) => {
  test.each(['is found by a claim that has room', 'is found by a sweep where no claim has'])('%s', async (how) => {
    const given = await schemaOfTest(url)
    const { effects, write } = outboxOf(given)
    await write('both', 2)
    const [first] = await effects.claim(asked)
    if (first === undefined) throw new Error('the first of an order can be claimed')
    await effects.settle([{ claim: first, outcome: done }])
    // As if it had been written while the one before was settled, or as if that worker had died before it told.
    await given.owner.query(`UPDATE ${given.schema}.effect_states SET is_next = 0 WHERE state = 'ready'`)
    const isSwept = how.includes('sweep')
    if (isSwept) await effects.sweep(10)
    const { rows } = await given.owner.query(`SELECT is_next FROM ${given.schema}.effect_states WHERE state = 'ready'`)
    expect(rows).toEqual([{ is_next: isSwept ? 1 : 0 }])
    expect(await effects.claim(asked)).toHaveLength(1)
  })

  test('is found however many orders have somebody that waits rightly', async () => {
    const given = await schemaOfTest(url)
    const { effects, write } = outboxOf(given)
    for (let order = 0; order < 450; order++) await write(`pair ${order}`, 2, `ride ${order}`)
    await effects.claim({ ...asked, limit: 450 })
    await given.owner.query(
      `UPDATE ${given.schema}.effect_states SET state = 'done', leased_until = NULL, finished_at = now()
       WHERE ordering = 'acme ride 99' AND is_next = 1`,
    )
    const found = [await effects.claim(asked), await effects.claim(asked), await effects.claim(asked)].flat()
    expect(found.map(({ order }) => order)).toEqual(['ride 99'])
  })
})

/** An outbox, what it sends, and a way to write to one order of it. */
function outboxOf({ owner, schema }: FreshSchema) {
  const { pool, sent } = recorded(owner)
  const store = postgresStore({ pool, schema, connection: 'direct' })
  const { effects } = store
  if (effects === undefined) throw new Error('a PostgreSQL store has an outbox')
  const write = async (key: string, count: number, order = 'ride 7') => {
    const claim = await claimed(store, key)
    const names = Array.from({ length: count }, (_, index) => index)
    const written = names.map((name) => effect(`${key} ${name}`, { order, sequence: name + 1 }))
    const write = { kind: 'complete', ...completion() } as const
    await store.transaction(claim, async () => ({ value: undefined, write, effects: written }))
  }
  return { effects, write, sent }
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

/** The rows that a statement gets from tables, wanted or not, and the pages that it touches for them. */
async function readBy({ owner }: FreshSchema, sent: Sent): Promise<{ readonly rows: number; readonly pages: number }> {
  const client = await owner.connect()
  try {
    await client.query('BEGIN')
    const explained = await client.query({
      text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sent.text}`,
      values: [...sent.values],
    })
    await client.query('ROLLBACK')
    const plan: Plan = explained.rows[0]['QUERY PLAN'][0].Plan
    return { rows: rowsIn(plan), pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] }
  } finally {
    client.release(true)
  }
}

function rowsIn(plan: Plan): number {
  const inner = (plan.Plans ?? []).reduce((sum, each) => sum + rowsIn(each), 0)
  if (!/^(Seq|Index|Index Only|Bitmap Heap) Scan$/.test(plan['Node Type'])) return inner
  return inner + (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
}
