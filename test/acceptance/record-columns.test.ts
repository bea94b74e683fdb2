import { scopeOf } from 'hapax'
import { beforeEach, describe, expect, test } from 'vitest'
import { recordQueries } from '../../src/stores/sqlite/record-queries.js'
import type { Row } from './support/database.js'
import { claimed, created, leaseMs, reservation } from './support/reservations.js'
import { type FileNode, type TestFile, testFile } from './support/test-file.js'
import { days, noon, seconds } from './support/times.js'

/** The table of records in a real file, read from the catalog and held against what is written into it. */

let file: TestFile
let node: FileNode
beforeEach(async () => {
  file = await testFile()
  node = file.node()
  await file.setTime(noon)
})

describe('the columns', () => {
  test('scope, key and fingerprint are texts that are never empty, and a key is one per tenant [S2-081 S2-082 S3-24]', async () => {
    for (const name of ['scope_id', 'idempotency_key', 'request_fingerprint'])
      expect(column(name), name).toMatchObject({ type: 'TEXT', notnull: 1 })
    await claimed(node.store, reservation('k'))
    for (const name of ['scope_id', 'idempotency_key', 'request_fingerprint'])
      expect(() => file.sql(`UPDATE hapax_records SET ${name} = NULL`), name).toThrow(/NOT NULL/)
    await claimed(node.store, reservation('k', { scope: scopeOf('globex') }))
    expect(file.sql('SELECT scope_id FROM hapax_records ORDER BY id')).toEqual([
      { scope_id: 'acme' },
      { scope_id: 'globex' },
    ])
  })

  test('the status is one of five words, and the database refuses any other [S2-083]', async () => {
    await claimed(node.store, reservation('k'))
    for (const word of ['processing', 'IN_PROGRESS', ''])
      expect(() => file.sql('UPDATE hapax_records SET status = ?', word), word).toThrow(/CHECK/)
    const [{ sql }] = file.sql("SELECT sql FROM sqlite_schema WHERE name = 'hapax_records'") as [Row]
    expect(String(sql)).toContain("('in_progress', 'completed', 'failed_retryable', 'unknown', 'expired')")
  })

  test('status code, body and shape of the answer are empty until there is one; the body is bytes [S2-084 S2-085 S3-31]', async () => {
    expect(column('response_status_code')).toMatchObject({ type: 'INTEGER', notnull: 0 })
    expect(column('response_body')).toMatchObject({ type: 'BLOB', notnull: 0 })
    const claim = await claimed(node.store, reservation('k'))
    expect(file.row('k')).toMatchObject({ response_status_code: null, response_body: null })
    const body = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    await node.store.complete(claim, { answer: { kind: 'kept', status: 299, headers: [], body }, answerVersion: 1 })
    expect(file.row('k')).toMatchObject({ response_status_code: 299 })
    expect(file.sql('SELECT hex(response_body) AS hex FROM hapax_records')).toEqual([
      { hex: Buffer.from(body).toString('hex').toUpperCase() },
    ])
  })

  test('why it failed, until when it is locked and when to look again are known exactly while they mean something [S2-087 S2-088 S2-089]', async () => {
    expect(column('last_error_code')).toMatchObject({ type: 'TEXT', notnull: 0 })
    expect(column('locked_until')).toMatchObject({ type: 'INTEGER', notnull: 0 })
    expect(column('reconcile_after')).toMatchObject({ type: 'INTEGER', notnull: 0 })
    const failing = await claimed(node.store, reservation('failed'))
    expect(file.row('failed')).toMatchObject({
      last_error_code: null,
      locked_until: noon + leaseMs,
      reconcile_after: null,
    })
    await node.store.fail(failing, { errorCode: 'ECONNREFUSED' })
    expect(file.row('failed')).toMatchObject({
      last_error_code: 'ECONNREFUSED',
      locked_until: null,
      reconcile_after: null,
    })
    const doubtful = await claimed(node.store, reservation('unknown'))
    await node.store.doubt(doubtful, { errorCode: 'ETIMEDOUT', reconcileAfterMs: 5 * seconds })
    expect(file.row('unknown')).toMatchObject({ last_error_code: 'ETIMEDOUT', reconcile_after: noon + 5 * seconds })
  })

  test('created, completed and expires are times; what never expires has one that never comes [S2-090 S2-091 S2-092]', async () => {
    expect(column('created_at')).toMatchObject({ type: 'INTEGER', notnull: 1 })
    expect(column('completed_at')).toMatchObject({ type: 'INTEGER', notnull: 0 })
    expect(column('expires_at')).toMatchObject({ type: 'INTEGER', notnull: 1 })
    const claim = await claimed(node.store, reservation('k'))
    expect(file.row('k')).toMatchObject({ created_at: noon, completed_at: null, expires_at: noon + days })
    await file.setTime(noon + 9 * seconds)
    await node.store.complete(claim, created)
    expect(file.row('k')).toMatchObject({
      created_at: noon,
      completed_at: noon + 9 * seconds,
      expires_at: noon + 9 * seconds + days,
    })
    await claimed(node.store, reservation('for ever', { retentionMs: undefined }))
    expect(Number(file.row('for ever').expires_at)).toBeGreaterThan(noon + 100_000 * days)
  })

  test('a record has a number of its own that business rows may refer to and that stays through every generation [S3-22]', async () => {
    expect(column('id')).toMatchObject({ type: 'INTEGER', pk: 1 })
    const { store } = node
    await store.complete(await claimed(store, reservation('k')), created)
    const { id } = file.row('k')
    await store.query({ sql: 'CREATE TABLE orders (record INTEGER REFERENCES hapax_records (id)) STRICT' })
    await store.query({ sql: 'INSERT INTO orders VALUES (?)', parameters: [id] })
    const stray = store.query({ sql: 'INSERT INTO orders VALUES (?)', parameters: [Number(id) + 1] })
    await expect(stray).rejects.toThrow(/FOREIGN KEY/)
    await file.setTime(noon + days)
    await claimed(store, reservation('k'))
    expect(file.row('k')).toMatchObject({ id, generation: 2 })
  })
})

describe('one row', () => {
  test('holds status, fingerprint and the whole answer together, unique by scope and key [S2-056 S2-070 S2-079]', async () => {
    await node.store.complete(await claimed(node.store, reservation('k')), created)
    const row = file.row('k')
    expect(row).toMatchObject({
      scope_id: 'acme',
      idempotency_key: 'k',
      status: 'completed',
      request_fingerprint: '1.test:aa',
      response_status_code: 201,
      response_headers: '[["location","/payments/1"]]',
      response_schema_version: 3,
    })
    expect(file.sql('SELECT CAST(response_body AS TEXT) AS body FROM hapax_records')).toEqual([{ body: '{"id":1}' }])
    const names = Object.keys(row).filter((name) => name !== 'id' && name !== 'locked_at')
    const copy = `INSERT INTO hapax_records (${names.join(', ')}) SELECT ${names.join(', ')} FROM hapax_records`
    expect(() => file.sql(copy)).toThrow(/UNIQUE.*digest/)
  })

  test('keeps key, tenant, fingerprint, answer and recovery point for a day, unless told otherwise [S3-02 S3-64]', async () => {
    const { hapax } = node
    const policy = hapax.policy({ name: 'payments.create' })
    await hapax.run({ scope: 'acme', key: 'k', input: { cents: 1 }, policy }, async () => ({ paid: true }))
    const row = file.row('k')
    expect(row).toMatchObject({ scope_id: 'acme', idempotency_key: 'k', recovery_point: 'finished' })
    expect(row).toMatchObject({
      request_fingerprint: expect.stringMatching(/:[0-9a-f]{64}$/),
      response_status_code: 200,
    })
    expect(Number(row.expires_at) - Number(row.completed_at)).toBe(days)
  })

  test('tells its life: locked and started, on to the next phase, finished and unlocked [S3-05 S3-27 S3-37]', async () => {
    file.sql('CREATE TABLE life (line TEXT NOT NULL) STRICT')
    for (const event of ['INSERT', 'UPDATE']) {
      file.sql(`CREATE TRIGGER on_${event} AFTER ${event} ON hapax_records BEGIN INSERT INTO life VALUES (
        new.status || ' ' || new.recovery_point || ' locked ' || coalesce(new.locked_at - ${noon}, 'never') ||
        ' answer ' || coalesce(new.response_status_code, 'none')); END`)
    }
    const claim = await claimed(node.store, reservation('k'))
    await file.setTime(noon + 5)
    await node.store.checkpoint(claim, { recoveryPoint: 'ride_created', onLeaseOver: 'resume', leaseMs })
    await node.store.complete(claim, created)
    expect(file.sql('SELECT line FROM life').map(({ line }) => line)).toEqual([
      'in_progress started locked 0 answer none',
      'in_progress ride_created locked 0 answer none',
      'completed finished locked never answer 201',
    ])
  })

  test('says when it ran last, anew with every attempt, and never loses when it was created [S3-26]', async () => {
    expect(column('last_run_at')).toMatchObject({ type: 'INTEGER', notnull: 1 })
    for (const attempt of [1, 2, 3]) {
      const now = noon + attempt * seconds
      await file.setTime(now)
      const claim = await claimed(node.store, reservation('k'))
      expect(file.row('k')).toMatchObject({ attempt, last_run_at: now, locked_at: now, created_at: noon + seconds })
      await node.store.fail(claim, { errorCode: 'threw' })
    }
  })

  test('holds a hash of what was asked and not a word of it [S3-30]', async () => {
    const secret = 'card 4242 4242 4242 4242'
    const { hapax } = node
    const policy = hapax.policy({ name: 'payments.create' })
    await hapax.run({ scope: 'acme', key: 'k', input: { secret }, policy }, async () => 'paid')
    for (const [name, value] of Object.entries(file.row('k'))) expect(String(value), name).not.toContain('4242')
    expect(String(file.row('k').request_fingerprint)).toMatch(/^[\w.-]+:[0-9a-f]{64}$/)
  })

  test('belongs to a scope made of the parts that were chosen, none of which reads like another [S2-059]', async () => {
    const { hapax } = node
    const policy = hapax.policy({ name: 'payments.create' })
    const scopes = [
      'acme',
      { tenant: 'acme', principal: 'usr_7' },
      { tenant: 'acme', route: 'usr_7' },
      { tenant: 'acme', principal: 'usr_7', credential: 'key_1', route: 'POST /payments' },
      { tenant: 'acme;principal=usr_7' },
    ]
    for (const scope of scopes) {
      const { replayed } = await hapax.run({ scope, key: 'k', input: 1, policy }, async () => 'ran')
      expect(replayed, JSON.stringify(scope)).toBe(false)
    }
    expect(file.sql('SELECT scope_id FROM hapax_records ORDER BY id').map(({ scope_id }) => scope_id)).toEqual([
      'acme',
      'acme;principal=usr_7',
      'acme;route=usr_7',
      'acme;principal=usr_7;credential=key_1;route=POST%20%2Fpayments',
      'acme%3Bprincipal%3Dusr_7',
    ])
  })
})

describe('the unique index', () => {
  test('exists, and is how a reservation finds its row', () => {
    const indexes = file.sql('SELECT name FROM pragma_index_list(?) WHERE "unique" = 1', 'hapax_records')
    expect(indexes).toEqual([{ name: 'hapax_records_digest' }])
    const plan = file.sql(`EXPLAIN QUERY PLAN ${recordQueries.find}`, new Uint8Array(16))
    expect(plan.map(({ detail }) => detail)).toEqual([
      'SEARCH hapax_records USING INDEX hapax_records_digest (digest=?)',
    ])
  })

  test('and the look under the lock are two layers: either one alone lets a single racer win [S3-41]', async () => {
    const racers = [node.store, file.node().store]
    const race = async (key: string) => {
      const verdicts = await Promise.all(Array.from({ length: 50 }, (_, n) => racers[n % 2]?.reserve(reservation(key))))
      return verdicts.filter((verdict) => verdict?.kind === 'reserved').length
    }
    expect(await race('both layers')).toBe(1)

    const names = Object.keys(file.row('both layers')).filter((name) => name !== 'id' && name !== 'locked_at')
    const blindly = `INSERT INTO hapax_records (${names.join(', ')}) SELECT ${names.join(', ')} FROM hapax_records`
    expect(() => file.sql(blindly)).toThrow(/UNIQUE/)

    file.sql('DROP INDEX hapax_records_digest')
    expect(await race('no index')).toBe(1)
    expect(file.sql("SELECT count(*) AS rows FROM hapax_records WHERE idempotency_key = 'no index'")).toEqual([
      { rows: 1 },
    ])
  })
})

function column(name: string): Row | undefined {
  return file.sql('SELECT * FROM pragma_table_xinfo(?) WHERE name = ?', 'hapax_records', name)[0]
}
