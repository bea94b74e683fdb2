import { scopeOf } from 'hapax'
import { beforeEach, describe, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { answer, ask, seen } from './support/ask.js'
import { framedSha256 } from './support/fingerprint-recipe.js'
import { claimed, created, leaseMs, reservation } from './support/reservations.js'
import { type SchemaNode, type TestSchema, testSchema } from './support/test-schema.js'
import { days, hours, minutes, noon, seconds } from './support/times.js'

/** The table of records in PostgreSQL, as its catalog tells it and as the database itself enforces it. */

onPostgres('the table of records', (url) => {
  let schema: TestSchema
  let node: SchemaNode
  beforeEach(async () => {
    schema = await testSchema(url)
    node = await schema.node()
    await schema.setTime(noon)
  })

  describe('the columns', () => {
    test('scope, key and fingerprint are texts that are never empty [S2-081 S2-082 S3-24]', async () => {
      const columns = await columnsOf(schema)
      for (const name of ['scope_id', 'idempotency_key', 'request_fingerprint'])
        expect(columns[name], name).toBe('text NOT NULL')
    })

    test('a key is 1 to 255 characters and a scope 1 to 512, whoever writes them [S1-022 S4-50 S4-51]', async () => {
      await claimed(node.store, reservation('k'))
      for (const [column, most] of [
        ['idempotency_key', 255],
        ['scope_id', 512],
      ] as const) {
        const set = (length: number) =>
          refusal(
            schema,
            `UPDATE records SET ${column} = repeat('é', $1), digest = digest(${
              column === 'scope_id' ? `repeat('é', $1), idempotency_key` : `scope_id, repeat('é', $1)`
            })`,
            length,
          )
        for (const length of [1, most]) expect(await set(length), `${column} of ${length}`).toBe('taken')
        for (const length of [0, most + 1])
          expect(await set(length), `${column} of ${length}`).toBe(`records_${column}_check`)
      }
    })

    test('the status is one of five words, and the database refuses any other [S2-083]', async () => {
      await node.store.fail(await claimed(node.store, reservation('k')), { errorCode: 'threw' })
      for (const word of ['processing', 'IN_PROGRESS', ''])
        expect(await refusal(schema, 'UPDATE records SET status = $1', word), word).toBe('records_status_check')
      const [check] = await schema.sql(`SELECT pg_get_constraintdef(oid) AS sql FROM pg_constraint
        WHERE conname = 'records_status_check' AND conrelid = 'records'::regclass`)
      const words = String(check?.sql).match(/'\w+'/g)
      expect(words).toEqual(["'in_progress'", "'completed'", "'failed_retryable'", "'unknown'", "'expired'"])
    })

    test('the answer is an integer and bytes, empty until there is one, and JSON in it can be queried [S1-026 S1-027 S4-54]', async () => {
      expect(await columnsOf(schema)).toMatchObject({ response_status_code: 'integer', response_body: 'bytea' })
      const body = '{ "id" : "pay_1", "b": 1.50, "a": "\u00e9" }'
      const request = { key: 'k', policy: node.hapax.policy({ name: 'payments.create' }) }
      await ask(node.hapax, request, async () => {
        expect(await schema.row('k')).toMatchObject({ response_status_code: null, response_body: null })
        return answer(201, body)
      })
      expect(await schema.row('k')).toMatchObject({ response_status_code: 201, response_body: Buffer.from(body) })
      expect(seen(await ask(node.hapax, request, async () => answer(500, '')))).toBe(`201 ${body} again`)
      const query = `SELECT convert_from(response_body, 'UTF8')::json ->> 'id' AS id FROM records`
      expect(await schema.sql(query)).toEqual([{ id: 'pay_1' }])
    })

    test('a recovery point is a text of fifty characters at most, whoever writes it [S3-32]', async () => {
      await claimed(node.store, reservation('k'))
      expect((await columnsOf(schema)).recovery_point).toBe('text NOT NULL')
      const set = (length: number) => refusal(schema, `UPDATE records SET recovery_point = repeat('é', $1)`, length)
      expect(await set(50)).toBe('taken')
      expect(await set(51)).toBe('records_recovery_point_check')
      const policy = node.hapax.policy({ name: 'rides.create' })
      const run = (key: string, phase: string) =>
        node.hapax.run({ scope: 'acme', key, policy }, async (work) => {
          await work.transaction(phase, async () => {})
          expect((await schema.row(key)).recovery_point).toBe(phase)
          return 'done'
        })
      await run('short', 'p'.repeat(50))
      await expect(run('long', 'p'.repeat(51))).rejects.toMatchObject({ code: 'phase_invalid' })
    })

    test('every byte there is survives in the body, which is no text to the database [S2-084 S2-085 S3-31]', async () => {
      const body = Uint8Array.from({ length: 256 }, (_, byte) => byte)
      const claim = await claimed(node.store, reservation('k'))
      await node.store.complete(claim, { answer: { kind: 'kept', status: 299, headers: [], body }, answerVersion: 1 })
      expect(await schema.row('k')).toMatchObject({ response_status_code: 299, response_body: Buffer.from(body) })
      // JSONB would refuse this one, after the payment was made.
      const nul = { key: 'nul', policy: node.hapax.policy({ name: 'payments.create' }) }
      const paid = () => ask(node.hapax, nul, async () => answer(201, '{"note":"\\u0000"}'))
      expect(seen(await paid())).toBe('201 {"note":"\\u0000"}')
      expect(seen(await paid())).toBe('201 {"note":"\\u0000"} again')
    })

    test('why it failed, until when it is locked and when to look again are known while they mean something [S2-087 S2-088 S2-089]', async () => {
      expect(await columnsOf(schema)).toMatchObject({
        last_error_code: 'text',
        locked_until: 'timestamp with time zone',
        reconcile_after: 'timestamp with time zone',
      })
      const failing = await claimed(node.store, reservation('failed'))
      expect(await schema.row('failed')).toMatchObject({ last_error_code: null, locked_until: noon + leaseMs })
      await node.store.fail(failing, { errorCode: 'ECONNREFUSED' })
      expect(await schema.row('failed')).toMatchObject({ last_error_code: 'ECONNREFUSED', locked_until: null })
      const doubtful = await claimed(node.store, reservation('unknown'))
      await node.store.doubt(doubtful, { errorCode: 'ETIMEDOUT', reconcileAfterMs: 5 * seconds })
      expect(await schema.row('unknown')).toMatchObject({
        last_error_code: 'ETIMEDOUT',
        locked_until: null,
        reconcile_after: noon + 5 * seconds,
      })
    })

    test('completed is a time that comes with the answer, expires one that may never come [S2-091 S2-092 S4-55]', async () => {
      expect(await columnsOf(schema)).toMatchObject({
        created_at: 'timestamp with time zone NOT NULL',
        completed_at: 'timestamp with time zone',
        expires_at: 'timestamp with time zone NOT NULL',
      })
      const claim = await claimed(node.store, reservation('k'))
      expect(await schema.row('k')).toMatchObject({ completed_at: null, expires_at: noon + days })
      await schema.setTime(noon + 9 * seconds)
      await node.store.complete(claim, created)
      const completedAt = noon + 9 * seconds
      expect(await schema.row('k')).toMatchObject({ completed_at: completedAt, expires_at: completedAt + days })
      await claimed(node.store, reservation('for ever', { retentionMs: undefined }))
      expect(await schema.row('for ever')).toMatchObject({ expires_at: Number.POSITIVE_INFINITY })
    })

    test('created is the time of the database, which no statement of a node brings with it [S1-028 S2-090 S3-23]', async () => {
      expect((await columnsOf(schema)).created_at).toBe('timestamp with time zone NOT NULL')
      await schema.setTime(noon + 3 * hours)
      node.wire.forget()
      await claimed(node.store, reservation('k'))
      expect(await schema.row('k')).toMatchObject({ created_at: noon + 3 * hours, last_run_at: noon + 3 * hours })

      const unpinned = await testSchema(url)
      const { store } = await unpinned.node()
      const now = async () =>
        (await unpinned.sql(`SELECT date_trunc('milliseconds', clock_timestamp()) AS now`))[0]?.now
      const before = await now()
      await claimed(store, reservation('k'))
      const between = 'SELECT created_at BETWEEN $1 AND $2 AS is_of_the_database FROM records'
      expect(await unpinned.sql(between, before, await now())).toEqual([{ is_of_the_database: true }])
    })

    test('the id is a number that the database gives, and business rows may refer to it [S3-22]', async () => {
      expect((await columnsOf(schema)).id).toBe('bigint NOT NULL')
      const [primary] = await schema.sql(`SELECT pg_get_constraintdef(oid) AS sql FROM pg_constraint
        WHERE conrelid = 'records'::regclass AND contype = 'p'`)
      expect(primary).toEqual({ sql: 'PRIMARY KEY (id)' })
      await node.store.complete(await claimed(node.store, reservation('k')), created)
      const { id } = await schema.row('k')
      await schema.sql('CREATE TABLE orders (record bigint REFERENCES records (id))')
      await schema.sql('INSERT INTO orders VALUES ($1)', id)
      expect(await refusal(schema, 'INSERT INTO orders VALUES ($1)', Number(id) + 1)).toBe('orders_record_fkey')
      await schema.setTime(noon + days)
      await claimed(node.store, reservation('k'))
      expect(await schema.row('k')).toMatchObject({ id, generation: '2' })
    })
  })

  describe('a scope and a key', () => {
    test('have one row by the database alone: it makes their digest itself and refuses a second [S2-080 S3-33 S4-56]', async () => {
      expect(await columnsOf(schema)).toMatchObject({ scope_id: 'text NOT NULL', digest: 'bytea NOT NULL' })
      const unique = await schema.sql(`SELECT i.relname AS name, pg_get_indexdef(x.indexrelid, 1, true) AS of
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        WHERE x.indrelid = 'records'::regclass AND x.indisunique AND NOT x.indisprimary
          AND x.indisvalid AND x.indpred IS NULL AND x.indnatts = 1`)
      expect(unique).toEqual([{ name: 'records_digest', of: 'digest' }])

      await node.store.complete(await claimed(node.store, reservation('k')), created)
      const { digest } = await schema.row('k')
      expect(digest).toEqual(framedSha256(['hapax record 1', 'acme', 'k']).subarray(0, 16))
      expect(await refusal(schema, copied({}))).toBe('records_digest')
      // Whoever lies about the digest to get a second row past the index does not get past the check.
      expect(await refusal(schema, copied({ digest: `'\\x00000000000000000000000000000000'` }))).toBe(
        'records_digest_check',
      )
      expect(await refusal(schema, copied({ digest: `digest('acme', 'another')` }))).toBe('records_digest_check')
      expect(await refusal(schema, copied({ digest: 'NULL' }))).toMatch(/null value in column "digest"/)
      expect(await refusal(schema, `UPDATE records SET idempotency_key = 'other'`)).toBe('records_digest_check')
      expect(await schema.sql('SELECT id FROM records')).toHaveLength(1)
    })

    test('are unique together: the key of one tenant is free for another, once [S1-021 S1-061 S1-099]', async () => {
      await claimed(node.store, reservation('k'))
      const globex = { scope_id: `'globex'`, digest: `digest('globex', 'k')` }
      expect(await refusal(schema, copied(globex))).toBe('taken')
      expect(await refusal(schema, copied(globex, `scope_id = 'acme'`))).toBe('records_digest')
      const verdict = await node.store.reserve(reservation('k', { scope: scopeOf('globex') }))
      expect(verdict.kind).toBe('in_progress')
    })

    test('are told apart wherever one ends and the other begins [S1-059]', async () => {
      for (const [scope, key] of [
        ['ac', 'mek'],
        ['acme', 'k'],
        ['acmek', 'k'],
      ] as const)
        expect((await node.store.reserve(reservation(key, { scope: scopeOf(scope) }))).kind).toBe('reserved')
      const digests = await schema.sql('SELECT DISTINCT digest FROM records')
      expect(digests).toHaveLength(3)
      const same = await schema.sql('SELECT 1 FROM records WHERE digest <> digest(scope_id, idempotency_key)')
      expect(same).toEqual([])
    })

    test('the scope is the tenant as it was named, so it can be a foreign key to the tenants there are [S1-023]', async () => {
      await schema.sql('CREATE TABLE tenants (id text PRIMARY KEY)')
      await schema.sql(`INSERT INTO tenants VALUES ('acme')`)
      await schema.sql(
        'ALTER TABLE records ADD CONSTRAINT records_tenant FOREIGN KEY (scope_id) REFERENCES tenants (id)',
      )
      const { hapax } = node
      const policy = hapax.policy({ name: 'payments.create' })
      const paid = await hapax.run({ scope: 'acme', key: 'k', policy }, async () => 'paid')
      expect(paid).toMatchObject({ value: 'paid', replayed: false })
      expect(await schema.row('k')).toMatchObject({ scope_id: 'acme' })
      const ran: string[] = []
      const stranger = hapax.run({ scope: 'nobody', key: 'k', policy }, async () => ran.push('ran'))
      await expect(stranger).rejects.toMatchObject({ code: 'idempotency_store_unavailable' })
      expect(ran).toEqual([])
      expect(await refusal(schema, `DELETE FROM tenants`)).toBe('records_tenant')
    })
  })

  test('one row holds status, fingerprint and the whole answer together [S2-079]', async () => {
    await node.store.complete(await claimed(node.store, reservation('k')), created)
    expect(await schema.row('k')).toMatchObject({
      scope_id: 'acme',
      idempotency_key: 'k',
      status: 'completed',
      request_fingerprint: '1.test:aa',
      recovery_point: 'finished',
      response_status_code: 201,
      response_headers: '[["location","/payments/1"]]',
      response_body: Buffer.from('{"id":1}'),
      response_schema_version: 3,
    })
  })

  test('a reservation of five minutes and two days is written as that, from the clock of the database [S2-094]', async () => {
    const { hapax, wire } = node
    const policy = hapax.policy({ name: 'payments.create', lease: '5m', retention: '48h' })
    const first = await ask(hapax, { key: 'k', policy }, async () => {
      expect(await schema.row('k')).toMatchObject({
        status: 'in_progress',
        locked_until: noon + 5 * minutes,
        created_at: noon,
        expires_at: noon + 48 * hours,
      })
      wire.forget()
      const duplicate = await ask(hapax, { key: 'k', policy }, async () => expect.fail('the duplicate ran'))
      expect(duplicate).toMatchObject({ kind: 'refused', error: { code: 'idempotency_key_in_progress' } })
      return answer(201, '')
    })
    expect(first).toMatchObject({ kind: 'answered', answer: { status: 201 } })
    const [insert, select] = wire.statements
    expect(insert?.text).toMatch(/^INSERT INTO [\s\S]* ON CONFLICT \(digest\) DO NOTHING\s+RETURNING /)
    expect(select?.text).toMatch(/^SELECT /)
  })
})

/** Each column with its type, and whether it may be empty. */
async function columnsOf(schema: TestSchema): Promise<Readonly<Record<string, string>>> {
  const rows = await schema.sql(`SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull
    FROM pg_attribute WHERE attrelid = 'records'::regclass AND attnum > 0 AND NOT attisdropped`)
  return Object.fromEntries(rows.map(({ name, type, attnotnull }) => [name, `${type}${attnotnull ? ' NOT NULL' : ''}`]))
}

/** What the database has against a statement: the name of the constraint, else its words. */
async function refusal(schema: TestSchema, text: string, ...values: readonly unknown[]): Promise<string> {
  return schema.sql(text, ...values).then(
    () => 'taken',
    (error) => error.constraint ?? error.message,
  )
}

/** Writes the record of a scope once more, with some columns changed, as somebody without any code of ours might. */
function copied(changes: Readonly<Record<string, string>>, where = 'true'): string {
  const columns = ['digest', 'scope_id', 'idempotency_key', 'generation', 'fence', 'claim_id', 'status', 'operation']
  const more = ['request_fingerprint', 'attempt', 'locked_until', 'on_lease_over', 'recovery_point', 'evidence']
  const times = ['created_at', 'last_run_at', 'expires_at', 'tombstone_ms', 'response_status_code']
  const names = [...columns, ...more, ...times]
  const values = names.map((name) => changes[name] ?? name)
  return `INSERT INTO records (${names.join(', ')}) SELECT ${values.join(', ')} FROM records WHERE ${where}`
}
