import type { Connections, Query, Row } from './connections.js'

/** What a server says about itself and about our schema, in one place; what it means is judged elsewhere. */
export interface Facts {
  readonly role: string
  readonly version: number
  readonly versionText: string
  readonly isStandby: boolean
  readonly isReadOnly: boolean
  readonly synchronousCommit: string
  readonly fsync: string
  readonly fullPageWrites: string
  readonly statementTimeoutMs: number
  readonly serverTime: number
  readonly synchronousStandbys: number
  readonly asynchronousStandbys: number
  /** Standbys whose kind this role may not see. */
  readonly hiddenStandbys: number
  /** The rights that serving needs and this role lacks. */
  readonly missingRights: readonly string[]
  readonly hasRowSecurity: boolean
  readonly isBoundByRowSecurity: boolean
  readonly compression: string
}

const server: Query = {
  gives: [
    'role',
    'version',
    'version_text',
    'is_standby',
    'is_read_only',
    'synchronous_commit',
    'fsync',
    'full_page_writes',
    'statement_timeout',
    'server_time',
  ],
  text: `SELECT current_user, current_setting('server_version_num'), current_setting('server_version'),
    pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', current_setting('synchronous_commit'),
    current_setting('fsync'), current_setting('full_page_writes'),
    (SELECT setting FROM pg_settings WHERE name = 'statement_timeout'),
    (extract(epoch FROM clock_timestamp()) * 1000)::float8`,
}

/** A logical subscriber is nothing that one fails over to. */
const standbys: Query = {
  gives: ['synchronous', 'asynchronous', 'hidden'],
  text: `SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum', 'potential')), count(*) FILTER (WHERE sync_state = 'async'),
    count(*) FILTER (WHERE sync_state IS NULL)
    FROM pg_stat_replication WHERE pid NOT IN
      (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)`,
}

/** From the catalogue, which everybody may read: a right that is missing is no error here. */
const schema: Query = {
  gives: ['missing', 'has_row_security', 'is_bound', 'compression'],
  text: `SELECT
    array_to_string(ARRAY[
      CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN 'USAGE ON SCHEMA ' || n.nspname END,
      CASE WHEN NOT has_table_privilege(m.oid, 'SELECT') THEN 'SELECT ON ' || n.nspname || '.migrations' END]
      || ARRAY(SELECT p || ' ON ' || n.nspname || '.records' FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p
        WHERE NOT has_table_privilege(r.oid, p))
      || ARRAY(SELECT 'EXECUTE ON FUNCTION ' || f.oid::regprocedure FROM pg_proc f
        WHERE f.pronamespace = n.oid AND NOT has_function_privilege(f.oid, 'EXECUTE')), ', '),
    r.relrowsecurity, row_security_active(r.oid),
    (SELECT CASE attcompression WHEN 'l' THEN 'lz4' ELSE 'pglz' END FROM pg_attribute
      WHERE attrelid = r.oid AND attname = 'response_body')
    FROM pg_namespace n JOIN pg_class r ON r.relnamespace = n.oid AND r.relname = 'records'
    JOIN pg_class m ON m.relnamespace = n.oid AND m.relname = 'migrations' WHERE n.nspname = $1`,
}

/** `undefined` where the schema is not there. */
export async function factsOf<Tx>(connections: Connections<Tx>, name: string): Promise<Facts> {
  const [about] = await connections.query(server, [])
  const [replicas] = await connections.query(standbys, [])
  const [ours] = await connections.query(schema, [name])
  return {
    role: text(about, 'role'),
    version: Number(about?.version),
    versionText: text(about, 'version_text'),
    isStandby: about?.is_standby === 't',
    isReadOnly: about?.is_read_only === 't',
    synchronousCommit: text(about, 'synchronous_commit'),
    fsync: text(about, 'fsync'),
    fullPageWrites: text(about, 'full_page_writes'),
    statementTimeoutMs: Number(about?.statement_timeout),
    serverTime: Number(about?.server_time),
    synchronousStandbys: Number(replicas?.synchronous),
    asynchronousStandbys: Number(replicas?.asynchronous),
    hiddenStandbys: Number(replicas?.hidden),
    missingRights: text(ours, 'missing')
      .split(', ')
      .filter((right) => right !== ''),
    hasRowSecurity: ours?.has_row_security === 't',
    isBoundByRowSecurity: ours?.is_bound === 't',
    compression: text(ours, 'compression'),
  }
}

function text(row: Row | undefined, name: string): string {
  return row?.[name] ?? ''
}
