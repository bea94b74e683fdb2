import { keyOf, scopeOf } from 'hapax'
import { migrateSqlite, sqliteStore } from 'hapax/sqlite'
import { beforeAll, describe, expect, test } from 'vitest'
import { listingOf } from '../../src/stores/sql/listing.js'
import { listing, recordQueries } from '../../src/stores/sqlite/record-queries.js'
import { pay } from '../sandbox/payment-client.js'
import { emptyDirectory, type SandboxProcess, startSandbox } from '../sandbox/sandbox-process.js'
import { answer, ask } from './support/ask.js'
import { bytesOf, databaseOf, type Row, recordOf, scriptOn, sqlOn } from './support/database.js'
import { framedSha256 } from './support/fingerprint-recipe.js'
import { openShop } from './support/shop.js'
import { noon } from './support/times.js'

/** The table of keys, as the catalog of a real file tells it and as the database itself enforces it. */

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await startSandbox()
  await pay(sandbox, { key: 'k' })
})

describe('the table', () => {
  test('is made by the migration, beside the tables of the application, and synced [S1-016]', async () => {
    const path = `${await emptyDirectory()}/new.db`
    expect((await migrateSqlite({ path })).migrations).toContain('0001-records')
    expect(columnsOf(path)).toEqual(columnsOf(databaseOf(sandbox)))
    const columns = Object.keys(columnsOf(databaseOf(sandbox)))
    expect(columns).toEqual(
      expect.arrayContaining(['idempotency_key', 'request_fingerprint', 'locked_at', 'response_body']),
    )
    const tables = sqlOn(databaseOf(sandbox), `SELECT name FROM sqlite_schema WHERE type = 'table'`)
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['hapax_records', 'payments']))
    expect(await synchronousOf(path)).toBe(2)
  })

  test('needs a key of at most 255 characters, and the scope it belongs to [S4-50 S4-51]', () => {
    const path = databaseOf(sandbox)
    const { idempotency_key, scope_id } = columnsOf(path)
    expect([idempotency_key, scope_id]).toEqual(['TEXT NOT NULL', 'TEXT NOT NULL'])
    const set = (column: string, length: number) => () =>
      scriptOn(path, `BEGIN; UPDATE hapax_records SET ${column} = '${'x'.repeat(length)}'; ROLLBACK`)
    for (const length of [1, 255]) expect(set('idempotency_key', length)).not.toThrow()
    for (const length of [0, 256]) expect(set('idempotency_key', length)).toThrow(/CHECK constraint failed/)
    for (const length of [1, 50, 512]) expect(set('scope_id', length)).not.toThrow()
    for (const length of [0, 513]) expect(set('scope_id', length)).toThrow(/CHECK constraint failed/)
  })

  test('needs a hash of the request: the 64 digits of a SHA-256, behind the name of its recipe [S1-024 S4-52]', () => {
    const path = databaseOf(sandbox)
    expect(columnsOf(path).request_fingerprint).toBe('TEXT NOT NULL')
    expect(recordOf(path, 'k').request_fingerprint).toMatch(/^[\w.-]+:[0-9a-f]{64}$/)
  })

  test('needs the times of creation and expiry [S4-55]', () => {
    const { created_at, expires_at } = columnsOf(databaseOf(sandbox))
    expect([created_at, expires_at]).toEqual(['INTEGER NOT NULL', 'INTEGER NOT NULL'])
  })
})

describe('a record', () => {
  test('is created and locked at the time of the database, and unlocked by its answer [S1-025 S1-028]', async () => {
    const { hapax, policy, path, at } = await openShop()
    await at(noon)
    const locked = await hapax.run(
      { scope: 'acme', key: 'k', policy: policy() },
      async () => recordOf(path, 'k').locked_at,
    )
    expect(locked.value).toBe(noon)
    await at(noon + 5)
    expect(recordOf(path, 'k')).toMatchObject({ created_at: noon, locked_at: null })
  })

  test('has its status code and body once it is answered, byte for byte, and JSON can be queried [S1-026 S1-027 S4-54]', async () => {
    const { hapax, policy, path } = await openShop()
    const body = '{ "id" : "pay_1", "b": 1.50, "a": "\u00e9\\u0000" }'
    const request = { policy: policy(), key: 'k' }
    await ask(hapax, request, async () => {
      expect(recordOf(path, 'k')).toMatchObject({ response_status_code: null, response_body: null })
      return answer(201, body)
    })
    const { response_status_code, response_body } = recordOf(path, 'k')
    expect(response_status_code).toBe(201)
    expect(bytesOf(response_body).equals(Buffer.from(body))).toBe(true)
    expect(await ask(hapax, request, async () => answer(500, ''))).toMatchObject({
      answer: { status: 201, body: new TextEncoder().encode(body) },
    })
    const sql = `SELECT json_extract(CAST(response_body AS TEXT), '$.id') AS id FROM hapax_records`
    expect(sqlOn(path, sql)).toEqual([{ id: 'pay_1' }])
    const { response_status_code: status, response_body: bytes } = columnsOf(path)
    expect([status, bytes]).toEqual(['INTEGER', 'BLOB'])
  })
})

describe('uniqueness', () => {
  test('is one constraint, over the digest of scope and key together [S1-061 S1-099 S4-56]', () => {
    const path = databaseOf(sandbox)
    expect(uniqueIndexesOf(path)).toEqual([['digest']])
    const { digest, scope_id, idempotency_key } = recordOf(path, 'k')
    const names = ['hapax record 1', String(scope_id), String(idempotency_key)]
    expect(bytesOf(digest)).toEqual(framedSha256(names).subarray(0, 16))
    expect(columnsOf(path).digest).toBe('BLOB NOT NULL')
  })

  test('holds per scope: a second row for the key of one tenant is refused, for another tenant it is not [S1-021]', async () => {
    const { hapax, policy, path } = await openShop()
    for (const scope of ['acme', 'globex']) {
      await hapax.run({ scope, key: 'k', policy: policy() }, async () => 'paid')
    }
    const digests = sqlOn(
      path,
      'SELECT DISTINCT hex(digest) AS digest FROM hapax_records WHERE idempotency_key = ?',
      'k',
    )
    expect(digests).toHaveLength(2)
    for (const scope of ['acme', 'globex'])
      expect(() => scriptOn(path, copyOf(path, scope))).toThrow(/UNIQUE constraint failed/)
  })

  test('is kept by the database alone: without any code of ours a duplicate is refused [S1-059]', () => {
    const path = databaseOf(sandbox)
    const records = () => sqlOn(path, 'SELECT id FROM hapax_records')
    const before = records()
    expect(() => scriptOn(path, copyOf(path, 'acme'))).toThrow(/UNIQUE constraint failed: hapax_records.digest/)
    expect(records()).toEqual(before)
  })
})

test('no statement of a request finds a key without its scope, and no step of the store does', async () => {
  const { find, remove, overdue, expired, forgotten } = recordQueries
  for (const sql of [find, remove]) expect(sql).toMatch(/WHERE digest = \?$/)
  const conditions = [
    overdue,
    expired,
    forgotten,
    listingOf({ limit: 1 }, 1, listing).text,
    recordQueries.update(['status']),
  ]
  for (const sql of conditions) expect(sql.slice(sql.indexOf('WHERE'))).not.toMatch(/idempotency_key|digest/)

  const { hapax, store, policy } = await openShop()
  await hapax.run({ scope: 'acme', key: 'k', policy: policy() }, async () => 'paid')
  const [key, scope] = [keyOf('k'), scopeOf('globex')]
  expect(await store.find({ scope: scopeOf('acme'), key })).toBeDefined()
  expect(await store.find({ scope, key })).toBeUndefined()
  expect((await store.list({ scope, limit: 10 })).records).toEqual([])
})

test('expiry has an index, and the reaper goes by it [S4-57]', () => {
  const path = databaseOf(sandbox)
  const [index] = sqlOn(path, `SELECT name FROM pragma_index_info('hapax_records_expires')`)
  expect(index).toEqual({ name: 'expires_at' })
  const plan = sqlOn(path, `EXPLAIN QUERY PLAN ${recordQueries.expired}`, noon, 1_000)
  expect(plan.map(({ detail }) => detail)).toEqual([
    'SEARCH hapax_records USING INDEX hapax_records_expires (expires_at<?)',
    // Whether an effect of it is still open has an index too.
    'CORRELATED SCALAR SUBQUERY 1',
    'SEARCH e USING INDEX hapax_effect_states_open (record_id=?)',
  ])
})

/** Each column with its type, and whether it may be empty. */
function columnsOf(path: string): Readonly<Record<string, string>> {
  const rows = sqlOn(path, `SELECT name, type, "notnull" FROM pragma_table_xinfo('hapax_records')`)
  return Object.fromEntries(rows.map((row: Row) => [row.name, `${row.type}${row.notnull === 1 ? ' NOT NULL' : ''}`]))
}

function uniqueIndexesOf(path: string): unknown[][] {
  const indexes = sqlOn(path, `SELECT name FROM pragma_index_list('hapax_records') WHERE "unique" = 1`)
  return indexes.map(({ name }) =>
    sqlOn(path, 'SELECT name FROM pragma_index_info(?)', String(name)).map((row) => row.name),
  )
}

/** Inserts the row of a scope once more, under an id of its own. */
function copyOf(path: string, scope: string): string {
  const columns = sqlOn(path, `SELECT name FROM pragma_table_info('hapax_records') WHERE name <> 'id'`)
  const names = columns.map(({ name }) => name).join(', ')
  return `INSERT INTO hapax_records (${names}) SELECT ${names} FROM hapax_records WHERE scope_id = '${scope}'`
}

/** How a store of ours commits: 2 is FULL, an fsync each time. */
async function synchronousOf(path: string): Promise<unknown> {
  const store = sqliteStore({ path })
  try {
    return (await store.query({ sql: 'PRAGMA synchronous' })).rows[0]?.synchronous
  } finally {
    await store.close()
  }
}
