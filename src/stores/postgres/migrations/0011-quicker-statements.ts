import type { Migration } from './migration.js'

/**
 * What PostgreSQL would read anew for every statement. The check of the digest is the same as `digest()` computes, said out:
 * the length of a text is the last six of eight bytes, and before them stands what every digest of a record begins with,
 * `hapax record 1` behind its own length. Rows that are there were checked by the function, and are not read again.
 *
 * `clock()` calls what is volatile and is itself stable, so that indexes can be searched by it. One in SQL is not inlined
 * then, but read each time that a statement calls it; this language reads it once for each connection.
 */
export const quickerStatements: Migration = {
  version: 11,
  name: '0011-quicker-statements',
  sql: (schema) => [
    `ALTER TABLE ${schema}.records DROP CONSTRAINT records_check, ADD CONSTRAINT records_digest_check CHECK (digest = substr(sha256(
    decode('00000000000e6861706178207265636f72642031', 'hex') ||
    substr(int8send(octet_length(scope_id)), 3) || convert_to(scope_id, 'UTF8') ||
    substr(int8send(octet_length(idempotency_key)), 3) || convert_to(idempotency_key, 'UTF8')), 1, 16)) NOT VALID`,
    `CREATE OR REPLACE FUNCTION ${schema}.clock() RETURNS timestamptz LANGUAGE plpgsql STABLE
  AS $$ BEGIN RETURN date_trunc('milliseconds', clock_timestamp()); END $$`,
  ],
}
