import fc from 'fast-check'
import { keyOf, scopeOf } from 'hapax'
import { expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { recordDigest } from '../../src/engine/digest.js'
import type { RecordName } from '../../src/engine/record.js'
import { onPostgres } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'
import { claimed } from './given.js'

/** What the database itself promises, whoever writes to it. */

onPostgres('the schema', (url) => {
  test('digests a name as the engine does, in any script', async () => {
    const { schema, owner } = await schemaOfTest(url)
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }).map((any) => any.replaceAll('\0', '0'))
    const names = fc.sample(fc.tuple(text, text), 2_000)
    const { rows } = await owner.query(
      `SELECT ${schema}.digest(scope, key) AS digest FROM unnest($1::text[], $2::text[]) WITH ORDINALITY n(scope, key, i)
      ORDER BY i`,
      [names.map(([scope]) => scope), names.map(([, key]) => key)],
    )
    const ours = names.map(([scope, key]) => hex(recordDigest({ scope, key } as RecordName)))
    expect(rows.map(({ digest }) => hex(digest))).toEqual(ours)
  })

  test.each([
    ['with the right digest', 'digest', '23505'],
    ['with a wrong one', `decode(md5('another'), 'hex')`, '23514'],
    ['with none', 'NULL', '23502'],
  ])('refuses a second row of the same scope and key, %s', async (_, digest, code) => {
    const { schema, owner, node } = await schemaOfTest(url)
    await claimed(node().store, 'k')
    const others = `scope_id, idempotency_key, generation, fence, claim_id, status, operation, request_fingerprint, attempt,
      locked_until, on_lease_over, recovery_point, evidence, created_at, last_run_at, expires_at, tombstone_ms`
    const again = owner.query(
      `INSERT INTO ${schema}.records (digest, ${others}) SELECT ${digest}, ${others} FROM ${schema}.records`,
    )
    await expect(again).rejects.toMatchObject({ code })
  })

  test.each([
    ['an unknown state', `status = 'lost'`],
    ['an empty key', `idempotency_key = '', digest = SCHEMA.digest(scope_id, '')`],
    [
      'a key of 256 characters',
      `idempotency_key = repeat('k', 256), digest = SCHEMA.digest(scope_id, repeat('k', 256))`,
    ],
    ['no scope', `scope_id = '', digest = SCHEMA.digest('', idempotency_key)`],
    [
      'a scope of 513 characters',
      `scope_id = repeat('s', 513), digest = SCHEMA.digest(repeat('s', 513), idempotency_key)`,
    ],
    ['the digest of another name', `digest = SCHEMA.digest('acme', 'another')`],
    ['another key under the same digest', `idempotency_key = 'another'`],
    ['a completed record without an answer', 'response_status_code = NULL'],
    ['a completed record with a lease', 'locked_until = now()'],
    ['a claim without a lease', `status = 'in_progress', response_status_code = NULL`],
    ['an open record with an answer', `status = 'unknown'`],
    ['a fence of nobody', 'fence = 0'],
    ['a generation before the first', 'generation = 0'],
    ['an attempt before the first', 'attempt = 0'],
    ['an end of the lease that means nothing', `on_lease_over = 'run'`],
  ])('refuses %s', async (_, change) => {
    const { schema, owner, node } = await schemaOfTest(url)
    const { store } = node()
    await store.complete(await claimed(store, 'k'), completion())
    const sql = `UPDATE ${schema}.records SET ${change.replaceAll('SCHEMA', schema)}`
    await expect(owner.query(sql)).rejects.toMatchObject({ code: '23514' })
  })

  test.each(['expires_at', 'scope_id', 'request_fingerprint', 'created_at'])(
    'refuses a record without %s',
    async (column) => {
      const { schema, owner, node } = await schemaOfTest(url)
      await claimed(node().store, 'k')
      const without = owner.query(`UPDATE ${schema}.records SET ${column} = NULL`)
      await expect(without).rejects.toMatchObject({ code: '23502' })
    },
  )

  test('lets the same key live in two scopes', async () => {
    const { node } = await schemaOfTest(url)
    const { store } = node()
    await claimed(store, 'k')
    await claimed(store, 'k', { scope: scopeOf('globex') })
    expect(await store.find({ scope: scopeOf('globex'), key: keyOf('k') })).toMatchObject({ scope: 'globex' })
  })
})

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
