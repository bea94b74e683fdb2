import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { lostReply } from '../sandbox/lost-reply.js'
import { pay, tea } from '../sandbox/payment-client.js'
import { untilRunning } from '../sandbox/test-database.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** The records of the sandbox by the statements of the guides, in the words of the marketplace's own table. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  /** The statement that the guide of this database shows, and the one row that is about a key. */
  async function shown(key: string) {
    const guide = sandbox.nodes.length === 1 ? 'sqlite' : 'postgres'
    const page = readFileSync(new URL(`../../docs/guides/${guide}.md`, import.meta.url), 'utf8')
    const statements = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, statement]) => statement ?? '')
    const statement = statements.find((text) => text.includes('AS marketplace_id')) ?? ''
    const rows = (await sandbox.sql(statement)).filter((row) => row.key === key)
    expect(rows).toHaveLength(1)
    return { ...rows[0] }
  }

  test('a record has an id that is a UUID, unique and never null by the word of the database [S4-49]', async () => {
    const keys = [randomUUID(), randomUUID()]
    for (const key of keys) await pay(sandbox, { key, body: tea() })
    const ids = await Promise.all(keys.map(async (key) => (await shown(key)).id))
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    expect(new Set(ids).size).toBe(2)
    const [one, other] = await Promise.all(keys.map(async (key) => (await sandbox.recordOf(key)).digest))
    expect(Buffer.from(one as Buffer).toString('hex')).toBe(String(ids[0]).replaceAll('-', ''))
    const twice = sandbox.bytes(Buffer.from(other as Buffer))
    // The table of one database checks also that it is the digest of its key.
    await expect(sandbox.change(keys[0] ?? '', `digest = ${twice}`)).rejects.toThrow(/unique|check/i)
    await expect(sandbox.change(keys[0] ?? '', 'digest = NULL')).rejects.toThrow(/null/i)
  })

  test('a record is processing, completed or failed, and each of our states is one of these [S4-53]', async () => {
    const [done, failed, doubted] = [randomUUID(), randomUUID(), randomUUID()]
    const body = tea()
    const { text } = await pay(sandbox, { key: done, body })
    const hash = String((await sandbox.recordOf(done)).request_fingerprint).slice(-64)
    expect(await shown(done)).toMatchObject({
      ...{ key: done, marketplace_id: 'acme', request_hash: hash, status: 'completed' },
      ...{ response_status: 201, response_body: text },
    })

    const refused = tea()
    await sandbox.refusing(refused, () => pay(sandbox, { key: failed, body: refused }))
    expect(await shown(failed)).toMatchObject({ status: 'failed', response_status: null, response_body: null })
    // Which allows a retry with the same key.
    expect((await pay(sandbox, { key: failed, body: refused })).status).toBe(201)

    await sandbox.withStore((store) => lostReply(store, doubted, body))
    expect(await shown(doubted)).toMatchObject({ status: 'processing', response_status: null })

    const slow = await sandbox.another({ env: { SANDBOX_DELAY_MS: '1000' } })
    const running = pay(slow, { key: 'runs', body: tea() })
    await untilRunning(sandbox, 'runs')
    expect(await shown('runs')).toMatchObject({ status: 'processing', response_status: null })
    await running
    expect(await shown('runs')).toMatchObject({ status: 'completed', response_status: 201 })
  })
})
