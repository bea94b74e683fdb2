import { randomBytes } from 'node:crypto'
import type { Store } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import { expect, onTestFinished, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { noServer, onPostgres, serverUrl } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'
import { ownPostgres, serverBinaries } from '../support/postgres-server.js'
import { claimOf, reservation } from './given.js'

/** What a handler said comes back byte for byte, however the server keeps it. */

const megabyte = 1024 * 1024

const bodies = {
  'every byte there is': Uint8Array.from({ length: 256 }, (_, byte) => byte),
  'nothing at all': new Uint8Array(),
  'JSON with an escaped NUL': Buffer.from(JSON.stringify({ name: 'a\u0000b' })),
  'a NUL itself, and no UTF-8': Buffer.from([0x7b, 0x00, 0xff, 0xfe, 0x7d]),
  'what looks like bytea': Buffer.from('\\x00\\\\\\001'),
  '1 MB of noise': randomBytes(megabyte),
  '1 MB of the same': Buffer.alloc(megabyte, '{"id":"pay_1"}'),
} as const

const packaged = serverUrl === undefined ? { missing: noServer } : await serverBinaries('package')

onPostgres('bodies', (url) => {
  for (const library of [pgLibrary, postgresJs])
    for (const connection of ['direct', 'pooler'] as const)
      test.each(Object.entries(bodies))(
        `%s comes back as it was, by ${library.name}, ${connection}`,
        async (_, body) => {
          const { schema, owner } = await schemaOfTest(url)
          const { store, end } = library.connect(url, { schema, connection })
          onTestFinished(end)
          await roundTrip(store, body)
          const { rows } = await owner.query(`SELECT response_body FROM ${schema}.records`)
          expect(rows[0].response_body.equals(body)).toBe(true)
        },
      )

  test('a large body is compressed by lz4 where the server has it', async () => {
    const { schema, owner } = await schemaOfTest(url)
    await roundTrip(postgresStore({ pool: owner, schema }), bodies['1 MB of the same'])
    const { rows } = await owner.query(`SELECT pg_column_compression(response_body) AS method,
      pg_column_size(response_body) AS bytes,
      (SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression') AS "hasLz4"
      FROM ${schema}.records`)
    expect(rows[0].method).toBe(rows[0].hasLz4 ? 'lz4' : 'pglz')
    expect(rows[0].bytes).toBeLessThan(megabyte / 10)
  })
})

const without =
  'on a server without lz4 the schema is made all the same, bodies come back, and an examination says pglz'

test.skipIf('missing' in packaged)(
  'missing' in packaged ? `${without} (skipped: ${packaged.missing})` : without,
  async () => {
    if ('missing' in packaged) return
    const server = await ownPostgres(packaged)
    onTestFinished(() => server.remove())
    await server.start()
    const { schema, owner } = await schemaOfTest(server.url)
    await expect(owner.query('CREATE TABLE other (body bytea COMPRESSION lz4)')).rejects.toMatchObject({
      code: '0A000',
    })
    const store = postgresStore({ pool: owner, schema })
    await store.open()
    for (const body of Object.values(bodies)) await roundTrip(store, body)
    const { rows } = await owner.query(
      `SELECT pg_column_compression(response_body) AS method FROM ${schema}.records ORDER BY id DESC LIMIT 1`,
    )
    expect(rows).toEqual([{ method: 'pglz' }])
    expect(await store.examine()).toContainEqual(expect.objectContaining({ says: expect.stringMatching(/by pglz/) }))
  },
)

async function roundTrip(store: Store<unknown>, body: Uint8Array): Promise<void> {
  const asked = reservation(crypto.randomUUID())
  const claim = claimOf(await store.reserve(asked))
  await store.checkpoint(claim, { recoveryPoint: 'begun', onLeaseOver: 'doubt', leaseMs: 30_000, progress: body })
  expect(Buffer.from((await store.find(claim))?.progress ?? []).equals(body)).toBe(true)
  await store.complete(claim, { ...completion(), answer: { kind: 'kept', status: 200, headers: [], body } })
  const verdict = await store.reserve({ ...asked, claimId: 'of the retry' })
  if (verdict.kind !== 'completed' || verdict.answer.kind !== 'kept') throw new Error(`no answer: ${verdict.kind}`)
  expect(Buffer.from(verdict.answer.body).equals(body)).toBe(true)
}
