import { engine, type Finding } from 'hapax'
import { type PostgresStoreOptions, postgresRights, postgresStore } from 'hapax/postgres'
import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { judge, type Wanted } from '../../src/stores/postgres/examine.js'
import type { Facts } from '../../src/stores/postgres/facts.js'
import { schemaVersion } from '../../src/stores/postgres/migrations/index.js'
import { onPostgres, serverUrl } from '../support/on-postgres.js'
import { asRole, connectionsOfTest, schemaOfTest } from '../support/postgres-schema.js'

/** What the store sees of its server: each thing that would break a promise has a name, and the store refuses it. */

onPostgres('on a server', () => {
  test('a role with the rights that serving needs opens the store, and nothing is broken', async () => {
    const { store } = await given()
    await store.open()
    const findings = await store.examine()
    expect(findings.filter(({ level }) => level === 'broken')).toEqual([])
    expect(findings.map(({ check }) => check)).toEqual([
      'version',
      'writes',
      'schema',
      'rights',
      'row security',
      'table',
      'synchronous_commit',
      'disk',
      'standbys',
      'clock',
      'statement_timeout',
    ])
  })

  test.each([
    ['USAGE ON SCHEMA hapax', 'REVOKE USAGE ON SCHEMA hapax FROM serving'],
    ['SELECT ON hapax.migrations', 'REVOKE SELECT ON hapax.migrations FROM serving'],
    ['SELECT ON hapax.records', 'REVOKE SELECT ON hapax.records FROM serving'],
    ['DELETE ON hapax.records', 'REVOKE DELETE ON hapax.records FROM serving'],
    ['UPDATE ON hapax.effect_states', 'REVOKE UPDATE ON hapax.effect_states FROM serving'],
    [
      'INSERT ON hapax.calls; INSERT ON hapax.webhook_events',
      'REVOKE INSERT ON hapax.webhook_events, hapax.calls FROM serving',
    ],
    ['EXECUTE ON FUNCTION hapax.clock', 'REVOKE EXECUTE ON FUNCTION hapax.clock() FROM PUBLIC, serving'],
    [
      'INSERT, UPDATE ON hapax.records; EXECUTE ON FUNCTION hapax.digest',
      'REVOKE INSERT, UPDATE ON hapax.records FROM serving; REVOKE EXECUTE ON FUNCTION hapax.digest FROM PUBLIC, serving',
    ],
  ])('a role that lacks %s is told so: store_rights_missing', async (rights, revoke) => {
    const { owner, store, role, schema, inHere } = await given()
    await owner.query(inHere(revoke))
    await expect(store.open()).rejects.toMatchObject({ code: 'store_rights_missing' })
    expect(await finding(store, 'rights')).toEqual({
      check: 'rights',
      level: 'broken',
      code: 'store_rights_missing',
      says: `${role} lacks ${rights.replaceAll('hapax', schema)}. Run what hapax rights ${role} prints, with the role that owns the schema.`,
    })
  })

  test('a role with no right at all makes no check fail', async () => {
    const { owner, schema, store, role } = await given()
    await owner.query(`DROP OWNED BY ${role}`)
    await expect(store.open()).rejects.toMatchObject({ code: 'store_rights_missing' })
    // Where even the tables are missing, a right that is missing must not hide it.
    await owner.query(`DROP TABLE ${schema}.records, ${schema}.migrations CASCADE`)
    await expect(store.open()).rejects.toMatchObject({ code: 'store_schema_outdated' })
  })

  test('a role whose name needs quotes is named as SQL writes it', async () => {
    const { store, role } = await given({}, (name) => `"${name} Serving"`)
    expect(await finding(store, 'rights')).toMatchObject({ says: `${role} may do what serving needs` })
    expect(await finding(store, 'statement_timeout')).toMatchObject({
      says: expect.stringContaining(`ALTER ROLE ${role} SET statement_timeout = '5s'`),
    })
  })

  test('a role that is set to read-only is refused: store_read_only', async () => {
    const { store } = await given({ settings: { default_transaction_read_only: 'on' } })
    await expect(store.open()).rejects.toMatchObject({ code: 'store_read_only' })
    expect(await finding(store, 'writes')).toMatchObject({
      level: 'broken',
      says: expect.stringMatching(/read-only/),
    })
  })

  test('a schema that is missing or older is refused with what to run: store_schema_outdated', async () => {
    const { owner, schema, store } = await given()
    await owner.query(`DELETE FROM ${schema}.migrations`)
    await expect(store.open()).rejects.toMatchObject({ code: 'store_schema_outdated' })
    await owner.query(`DROP SCHEMA ${schema} CASCADE`)
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_schema_outdated',
      message: expect.stringMatching(/nothing of Hapax in the schema .* Run hapax migrate/),
    })
    expect((await store.examine()).map(({ check }) => check)).not.toContain('rights')
  })

  test('a schema without its table of records is not taken for a new one', async () => {
    const { owner, schema, store } = await given()
    await owner.query(`DROP TABLE ${schema}.records`)
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_schema_outdated',
      message: expect.stringMatching(/backup/),
    })
  })

  test('a schema of a later release is refused: store_schema_newer', async () => {
    const { owner, schema, store } = await given()
    await owner.query(`INSERT INTO ${schema}.migrations (version, name) VALUES (999, '0999-later')`)
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_schema_newer',
      message: expect.stringMatching(/at version 999/),
    })
  })

  test('a table that a crash would empty is refused: store_not_durable', async () => {
    const { owner, schema, store } = await given()
    await owner.query(`ALTER TABLE ${schema}.records SET UNLOGGED`)
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_not_durable',
      message: expect.stringMatching(/SET LOGGED/),
    })
  })

  test('synchronous_commit off is refused: store_not_durable', async () => {
    const { store } = await given({ settings: { synchronous_commit: 'off' } })
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_not_durable',
      message: expect.stringMatching(/^synchronous_commit is off: a crash forgets/),
    })
  })

  test('where durability is unchecked, synchronous_commit off is a warning that the engine emits', async () => {
    const { store } = await given({
      settings: { synchronous_commit: 'off', statement_timeout: '5s' },
      durability: 'unchecked',
    })
    const hapax = engine({ store })
    const warned: { check: string; says: string }[] = []
    hapax.on('store_warned', ({ check, says }) => warned.push({ check, says }))
    await hapax.open()
    onTestFinished(() => hapax.close())
    expect(warned.filter(({ check }) => check !== 'standbys')).toEqual([
      { check: 'synchronous_commit', says: expect.stringMatching(/SET synchronous_commit = on/) },
    ])
  })

  test('an engine does not open on what is broken, and throws its code', async () => {
    const { store } = await given({ settings: { synchronous_commit: 'off' } })
    const hapax = engine({ store })
    await expect(hapax.open()).rejects.toMatchObject({ code: 'store_not_durable' })
  })

  test.each([
    ['0', 'warning', /^None: .* SET statement_timeout = '5s'\.$/],
    ['7s', 'ok', /^7000 ms$/],
  ])('a statement_timeout of %s is seen', async (statement_timeout, level, says) => {
    const { store } = await given({ settings: { statement_timeout } })
    expect(await finding(store, 'statement_timeout')).toMatchObject({ level, says: expect.stringMatching(says) })
  })

  test('row security that nobody told the store of is refused, since it would hide every record', async () => {
    const { owner, schema, role, store } = await given()
    for (const statement of postgresRights({ role, schema, rowSecurity: 'scope' })) await owner.query(statement)
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_rights_missing',
      message: expect.stringMatching(/rowSecurity: 'scope'/),
    })
  })

  test('row security that is asked for and not there is a warning', async () => {
    const { store } = await given({ rowSecurity: 'scope' })
    await store.open()
    expect(await finding(store, 'row security')).toMatchObject({
      level: 'warning',
      says: expect.stringMatching(/not every table has it\. Run what hapax rights .* --row-security prints/),
    })
  })

  test.each([
    ['a unique index on digest', 'DROP INDEX hapax.records_digest'],
    ['the check of the digest', 'ALTER TABLE hapax.records DROP CONSTRAINT records_digest_check'],
    ['the table effects', 'DROP TABLE hapax.effects'],
    ['the column tombstone_ms', 'ALTER TABLE hapax.records DROP COLUMN tombstone_ms CASCADE'],
  ])('a table that somebody took %s from is refused', async (part, change) => {
    const { owner, schema, store } = await given()
    await owner.query(change.replaceAll('hapax.', `${schema}.`))
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_schema_outdated',
      message: expect.stringContaining(`lacks ${part}. Somebody changed it by hand`),
    })
  })

  test('a schema that lost its list of migrations is not taken for a new one', async () => {
    const { owner, schema, store } = await given()
    await owner.query(`DELETE FROM ${schema}.migrations`)
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_schema_outdated',
      message: expect.stringContaining('has lost its list of migrations'),
    })
  })

  test("somebody else's table is not taken for ours", async () => {
    const { owner, schema, store } = await given()
    await owner.query(`DELETE FROM ${schema}.migrations`)
    await owner.query(`DROP TABLE ${schema}.records`)
    await owner.query(`CREATE TABLE ${schema}.records (id int)`)
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_schema_outdated',
      message: expect.stringContaining('a table named records that is not ours'),
    })
  })

  test('row security is no help to a role above it, so it is refused', async () => {
    const { owner, schema, role } = await given()
    for (const statement of postgresRights({ role, schema, rowSecurity: 'scope' })) await owner.query(statement)
    const store = postgresStore({ pool: owner, schema, rowSecurity: 'scope' })
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_rights_missing',
      message: expect.stringMatching(/is above it/),
    })
  })

  test('row security without our policy is refused, and with it the store opens', async () => {
    const { owner, schema, role, store } = await given({ rowSecurity: 'scope' })
    for (const statement of postgresRights({ role, schema, rowSecurity: 'scope' })) await owner.query(statement)
    await store.open()
    expect(await finding(store, 'row security')).toMatchObject({ level: 'ok' })
    await owner.query(`DROP POLICY by_scope ON ${schema}.records`)
    await expect(store.open()).rejects.toMatchObject({
      code: 'store_rights_missing',
      message: expect.stringMatching(/No policy/),
    })
  })
})

describe('what no server here can show', () => {
  test('a server that is too old is named, and nothing else about it is judged', () => {
    expect(judge({ ...healthy, version: 130_022, versionText: '13.22', schema: undefined }, wanted)).toEqual([
      {
        check: 'version',
        level: 'broken',
        code: 'store_version_unsupported',
        says: 'PostgreSQL 13.22 is too old. Upgrade to 14 or later.',
      },
    ])
    expect(judge(healthy, wanted).filter(({ level }) => level !== 'ok')).toEqual([])
  })

  test('clocks that are more than five seconds apart are a warning, in either direction', () => {
    expect(judged('clock', { clockApartMs: 5_000 })).toMatchObject({ level: 'ok' })
    expect(judged('clock', { clockApartMs: 61_234 })).toMatchObject({
      level: 'warning',
      says: expect.stringMatching(/^61\.2 s from/),
    })
  })

  test.each<[string, Partial<Facts['standbys']>, string, 'ok' | 'warning', RegExp]>([
    ['none', {}, 'on', 'ok', /^none$/],
    ['asynchronous', { asynchronous: 2 }, 'on', 'warning', /^2, and .* Set synchronous_standby_names\.$/],
    ['a quorum', { quorum: 2, asynchronous: 1, areAwaited: true }, 'on', 'ok', /^2 in a quorum, 1 asynchronous/],
    ['synchronous', { synchronous: 1, areAwaited: true }, 'remote_apply', 'ok', /^1 synchronous:/],
    ['not waited for', { synchronous: 1, areAwaited: true }, 'local', 'warning', /Set synchronous_commit to on\.$/],
    ['away', { areAwaited: true }, 'on', 'warning', /^Every commit waits for a standby, and none/],
    ['hidden', { hidden: 1 }, 'on', 'warning', /^1 that serving may not look at\. GRANT pg_read_all_stats TO serving/],
  ])('standbys that are %s', (_name, standbys, synchronousCommit, level, says) => {
    const found = judged('standbys', { synchronousCommit, standbys: { ...healthy.standbys, ...standbys } })
    expect(found).toMatchObject({ level, says: expect.stringMatching(says) })
  })
})

const wanted: Wanted = { schema: 'hapax', rowSecurity: 'off', durability: 'required' }

const healthy: Facts = {
  role: 'serving',
  version: 180_001,
  versionText: '18.1',
  isStandby: false,
  isReadOnly: false,
  synchronousCommit: 'on',
  isEmbedded: false,
  fsync: 'on',
  fullPageWrites: 'on',
  statementTimeoutMs: 5_000,
  clockApartMs: 0,
  standbys: { synchronous: 0, quorum: 0, asynchronous: 0, hidden: 0, areAwaited: false },
  schema: {
    version: schemaVersion,
    hasRecords: true,
    missingRights: [],
    hasRowSecurity: false,
    hasPolicy: false,
    isBoundByRowSecurity: false,
    isLogged: true,
    compression: 'lz4',
    missingParts: [],
  },
}

function judged(check: string, changes: Partial<Facts>): Finding | undefined {
  return judge({ ...healthy, ...changes }, wanted).find((finding) => finding.check === check)
}

async function finding(store: { examine(): Promise<readonly Finding[]> }, check: string): Promise<Finding | undefined> {
  return (await store.examine()).find((found) => found.check === check)
}

interface Given extends Pick<PostgresStoreOptions<pg.Pool>, 'rowSecurity' | 'durability'> {
  /** Settings of the role that serves. */
  readonly settings?: Readonly<Record<string, string>>
}

/** A schema and a role of its own, which may do what serving needs and no more, and a store that serves with it. */
async function given({ settings = {}, ...options }: Given = {}, spell = (name: string) => name) {
  const { schema, owner } = await schemaOfTest(serverUrl ?? '')
  const role = spell(`${schema}_s`)
  const unquoted = role.replaceAll('"', '')
  await owner.query(`CREATE ROLE ${role} LOGIN`)
  onTestFinished(async () => {
    await owner.query(`DROP OWNED BY ${role}`)
    await owner.query(`DROP ROLE ${role}`)
  })
  const pool = connectionsOfTest(asRole(serverUrl ?? '', unquoted), { max: 1 })
  for (const statement of postgresRights({ role: unquoted, schema })) await owner.query(statement)
  for (const [name, value] of Object.entries(settings)) await owner.query(`ALTER ROLE ${role} SET ${name} = '${value}'`)
  /** A statement about the schema hapax and the role serving, as one about those of this test. */
  const inHere = (statement: string) => statement.replaceAll('hapax', schema).replaceAll('serving', role)
  return { schema, role, owner, inHere, store: postgresStore({ pool, schema, ...options }) }
}
