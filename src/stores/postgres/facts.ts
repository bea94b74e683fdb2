import { systemClock } from '../../kernel/clock.js'
import { postgresBounds } from '../../kernel/limits.js'
import { arrayOf } from './array.js'
import { whole } from './columns.js'
import type { Connections, Query, Row } from './connections.js'
import { quoted, versionOf } from './schema.js'
import { securedTables, servedTables } from './tables.js'

/** What a server says about itself and about our schema, in one place; what it means is judged elsewhere. */
export interface Facts {
  /** The role of this connection, as SQL writes it. */
  readonly role: string
  readonly version: number
  readonly versionText: string
  /** PostgreSQL inside of this process, which has no disk of its own. */
  readonly isEmbedded: boolean
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly synchronousCommit: string
  readonly fsync: string
  readonly fullPageWrites: string
  readonly statementTimeoutMs: number
  /** How far the server's clock is from ours at least, since nobody knows how long an answer was on its way. */
  readonly clockApartMs: number
  readonly standbys: StandbyFacts
  /** `undefined` where there is no such schema, and on a server too old to be asked. */
  readonly schema: SchemaFacts | undefined
}

export interface StandbyFacts {
  readonly synchronous: number
  /** Of these, a commit waits for some: whichever are first. */
  readonly quorum: number
  readonly asynchronous: number
  /** Standbys whose kind this role may not see. */
  readonly hidden: number
  /** Whether the server was told to wait for a standby, there or not. */
  readonly areAwaited: boolean
}

export interface SchemaFacts {
  /** The last migration; 0 before the first, `undefined` where this role may not look. */
  readonly version: number | undefined
  readonly hasRecords: boolean
  /** The rights that serving needs and this role lacks. */
  readonly missingRights: readonly string[]
  /** All tables that name a scope have it. */
  readonly hasRowSecurity: boolean
  readonly hasPolicy: boolean
  readonly isBoundByRowSecurity: boolean
  /** An unlogged table is empty after a crash. */
  readonly isLogged: boolean
  readonly compression: string
  /** What a promise rests on and is not there: the unique index, the check of the digest, columns, tables. */
  readonly missingParts: readonly string[]
}

/** Nothing here needs a right, and all of it is known to servers far older than those we support. */
const aboutServer: Query = {
  gives: [
    'role',
    'version',
    'version_text',
    'is_embedded',
    'is_standby',
    'is_read_only',
    'synchronous_commit',
    'fsync',
    'full_page_writes',
    'statement_timeout',
    'server_time',
  ],
  text: `SELECT quote_ident(current_user), current_setting('server_version_num'), current_setting('server_version'),
    version() LIKE '%PGlite%', pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', current_setting('synchronous_commit'),
    current_setting('fsync'), current_setting('full_page_writes'),
    (SELECT setting FROM pg_settings WHERE name = 'statement_timeout'),
    (extract(epoch FROM clock_timestamp()) * 1000)::float8`,
}

/** A logical subscriber and a running backup are nothing that one fails over to. */
const aboutStandbys: Query = {
  gives: ['synchronous', 'quorum', 'asynchronous', 'hidden', 'are_awaited'],
  text: `SELECT count(*) FILTER (WHERE sync_state = 'sync'), count(*) FILTER (WHERE sync_state = 'quorum'),
    count(*) FILTER (WHERE sync_state IN ('async', 'potential')), count(*) FILTER (WHERE sync_state IS NULL),
    current_setting('synchronous_standby_names') <> ''
    FROM pg_stat_replication WHERE application_name IS DISTINCT FROM 'pg_basebackup' AND pid NOT IN
      (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)`,
}

const ofSecured = 'FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = ANY ($5::text[])'

/** From the catalogue, which everybody may read: a right or a table that is missing is no error here. */
const aboutSchema: Query = {
  gives: [
    'has_migrations',
    'may_read_migrations',
    'has_records',
    'missing',
    'has_row_security',
    'has_policy',
    'is_bound',
    'is_logged',
    'compression',
    'missing_parts',
  ],
  text: `SELECT m.oid IS NOT NULL,
    has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(m.oid, 'SELECT'),
    r.oid IS NOT NULL,
    array_to_string(ARRAY[
      CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN 'USAGE ON SCHEMA ' || n.nspname END,
      CASE WHEN NOT has_table_privilege(m.oid, 'SELECT') THEN 'SELECT ON ' || n.nspname || '.migrations' END]
      || ARRAY(SELECT string_agg(w.privilege, ', ' ORDER BY w.i) || ' ON ' || n.nspname || '.' || w.relname
        FROM unnest($3::text[], $4::text[]) WITH ORDINALITY w (relname, privilege, i)
        JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.relname
        WHERE NOT has_table_privilege(c.oid, w.privilege) GROUP BY w.relname ORDER BY min(w.i))
      || ARRAY(SELECT 'EXECUTE ON FUNCTION ' || n.nspname || '.' || f.proname FROM pg_proc f
        WHERE f.pronamespace = n.oid AND f.proname IN ('clock', 'digest') AND NOT has_function_privilege(f.oid, 'EXECUTE')
        ORDER BY f.proname), '; '),
    (SELECT bool_and(c.relrowsecurity) ${ofSecured}),
    (SELECT bool_and(EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polname = 'by_scope')) ${ofSecured}),
    (SELECT bool_or(row_security_active(c.oid)) ${ofSecured}),
    (SELECT bool_and(c.relpersistence = 'p') FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = ANY ($3::text[])),
    (SELECT CASE attcompression WHEN 'l' THEN 'lz4' WHEN 'p' THEN 'pglz' ELSE current_setting('default_toast_compression') END
      FROM pg_attribute WHERE attrelid = r.oid AND attname = 'response_body'),
    array_to_string(ARRAY[
      CASE WHEN NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = r.oid AND i.indisunique AND i.indisvalid
        AND i.indimmediate AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] =
          (SELECT attnum FROM pg_attribute WHERE attrelid = r.oid AND attname = 'digest'))
        THEN 'a unique index on digest' END,
      CASE WHEN NOT EXISTS (SELECT FROM pg_constraint
        WHERE conrelid = r.oid AND contype = 'c' AND conname = 'records_digest_check' AND pg_get_constraintdef(oid) LIKE '%sha256(%(idempotency_key,%')
        THEN 'the check of the digest' END]
      || ARRAY(SELECT 'the column ' || name FROM unnest($2::text[]) name WHERE NOT EXISTS
        (SELECT FROM pg_attribute WHERE attrelid = r.oid AND attname = name AND NOT attisdropped))
      || ARRAY(SELECT DISTINCT 'the table ' || name FROM unnest($3::text[]) name
        WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = name)), '; ')
    FROM pg_namespace n
    LEFT JOIN pg_class m ON m.relnamespace = n.oid AND m.relname = 'migrations'
    LEFT JOIN pg_class r ON r.relnamespace = n.oid AND r.relname = 'records' WHERE n.nspname = $1`,
}

export async function factsOf<Tx>(connections: Connections<Tx>, schema: string): Promise<Facts> {
  const askedAt = systemClock.now()
  const [server] = await connections.query(aboutServer, [])
  const answeredAt = systemClock.now()
  const serverTime = Number(server?.server_time)
  const version = Number(server?.version)
  return {
    role: text(server, 'role'),
    version,
    versionText: text(server, 'version_text'),
    isEmbedded: isTrue(server, 'is_embedded'),
    isStandby: isTrue(server, 'is_standby'),
    isReadOnly: isTrue(server, 'is_read_only'),
    synchronousCommit: text(server, 'synchronous_commit'),
    fsync: text(server, 'fsync'),
    fullPageWrites: text(server, 'full_page_writes'),
    statementTimeoutMs: Number(server?.statement_timeout),
    clockApartMs: Math.max(0, askedAt - serverTime, serverTime - answeredAt),
    standbys: await standbyFactsOf(connections),
    schema: isSupported(version) ? await schemaFactsOf(connections, schema) : undefined,
  }
}

export function isSupported(version: number): boolean {
  return version >= postgresBounds.oldestVersion * 10_000
}

async function standbyFactsOf<Tx>(connections: Connections<Tx>): Promise<StandbyFacts> {
  const [row] = await connections.query(aboutStandbys, [])
  return {
    synchronous: Number(row?.synchronous),
    quorum: Number(row?.quorum),
    asynchronous: Number(row?.asynchronous),
    hidden: Number(row?.hidden),
    areAwaited: isTrue(row, 'are_awaited'),
  }
}

async function schemaFactsOf<Tx>(connections: Connections<Tx>, name: string): Promise<SchemaFacts | undefined> {
  const rights = servedTables.flatMap(({ name, rights }) => rights.map((right) => ({ name, right })))
  const [row] = await connections.query(aboutSchema, [
    name,
    arrayOf(['digest', 'committed_in', ...whole]),
    arrayOf(rights.map(({ name }) => name)),
    arrayOf(rights.map(({ right }) => right)),
    arrayOf(securedTables.map(({ name }) => name)),
  ])
  if (row === undefined) return undefined
  const version = async () => {
    if (!isTrue(row, 'has_migrations')) return 0
    return isTrue(row, 'may_read_migrations') ? versionOf(connections, quoted(name)) : undefined
  }
  return {
    version: await version(),
    hasRecords: isTrue(row, 'has_records'),
    missingRights: listed(row, 'missing'),
    hasRowSecurity: isTrue(row, 'has_row_security'),
    hasPolicy: isTrue(row, 'has_policy'),
    isBoundByRowSecurity: isTrue(row, 'is_bound'),
    isLogged: isTrue(row, 'is_logged'),
    compression: text(row, 'compression'),
    missingParts: listed(row, 'missing_parts'),
  }
}

function isTrue(row: Row | undefined, name: string): boolean {
  return row?.[name] === 't'
}

function listed(row: Row, name: string): readonly string[] {
  return text(row, name)
    .split('; ')
    .filter((item) => item !== '')
}

function text(row: Row | undefined, name: string): string {
  return row?.[name] ?? ''
}
