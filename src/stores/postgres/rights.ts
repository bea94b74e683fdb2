import { HapaxError } from '../../kernel/errors.js'
import { everyScope, type RowSecurity } from './executor.js'
import { defaultSchema, quoted } from './schema.js'
import { securedTables, servedTables } from './tables.js'

export interface PostgresRightsOptions {
  /** The role that serves. It must exist, and should own nothing. */
  readonly role: string
  readonly schema?: string
  /** `'scope'` has PostgreSQL itself keep each statement to the records of one scope. */
  readonly rowSecurity?: RowSecurity
}

/**
 * What a role needs for serving and nothing more, as statements to read, keep and run with the role that owns the
 * schema. They may be run again after every migration.
 *
 * @example
 * for (const statement of postgresRights({ role: 'hapax_serving' })) await owner.query(statement)
 */
export function postgresRights({
  role,
  schema = defaultSchema,
  rowSecurity = 'off',
}: PostgresRightsOptions): readonly string[] {
  const on = quoted(schema)
  const to = quotedRole(role)
  const grants = [
    `GRANT USAGE ON SCHEMA ${on} TO ${to}`,
    `GRANT SELECT ON ${on}.migrations TO ${to}`,
    ...servedTables.map(({ name, rights }) => `GRANT ${rights.join(', ')} ON ${on}.${name} TO ${to}`),
    `GRANT EXECUTE ON FUNCTION ${on}.clock(), ${on}.digest(text, text) TO ${to}`,
  ]
  return rowSecurity === 'off' ? grants : [...grants, ...policies(on)]
}

/**
 * Without a scope that was named, a statement sees no row at all. The workers name every scope. A policy is replaced in one
 * statement and security comes last, so that no traffic ever meets the one without the other.
 */
function policies(schema: string): readonly string[] {
  return securedTables.flatMap(({ name, seenBy }) => {
    const seers = seenBy === 'scope' ? `(scope_id, '${everyScope}')` : `('${everyScope}')`
    return [
      `DO $$ BEGIN
  DROP POLICY IF EXISTS by_scope ON ${schema}.${name};
  CREATE POLICY by_scope ON ${schema}.${name} USING (current_setting('hapax.scope', true) IN ${seers});
END $$`,
      `ALTER TABLE ${schema}.${name} ENABLE ROW LEVEL SECURITY`,
    ]
  })
}

function quotedRole(role: string): string {
  // PostgreSQL would cut a longer name off, and grant to another role.
  if (role !== '' && !role.includes('\0') && Buffer.byteLength(role) <= 63) return `"${role.replaceAll('"', '""')}"`
  throw new HapaxError('store_unknown', 'Name the role that serves, like hapax_serving, in at most 63 bytes.')
}
