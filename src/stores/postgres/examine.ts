import type { Finding } from '../../engine/finding.js'
import type { ErrorCode } from '../../kernel/errors.js'
import { postgresBounds } from '../../kernel/limits.js'
import type { Connections } from './connections.js'
import type { RowSecurity } from './executor.js'
import { type Facts, factsOf, isSupported, type SchemaFacts } from './facts.js'
import { schemaVersion } from './migrations/index.js'

/** What the store was asked for, as far as the server must agree. */
export interface Wanted {
  readonly schema: string
  readonly rowSecurity: RowSecurity
  readonly durability: Durability
}

/** Whether the server must keep what it acknowledged when the power fails. */
export type Durability = 'required' | 'unchecked'

/** Looks at everything that a promise of the store depends on. Reads only. */
export async function examine<Tx>(connections: Connections<Tx>, wanted: Wanted): Promise<readonly Finding[]> {
  return judge(await factsOf(connections, wanted.schema), wanted)
}

/** In the order in which one would mend: without the first, the later ones mean little. */
export function judge(facts: Facts, wanted: Wanted): readonly Finding[] {
  if (!isSupported(facts.version)) return [serverVersion(facts)]
  return [
    serverVersion(facts),
    writes(facts),
    ...schema(facts, wanted),
    synchronousCommit(facts, wanted),
    disk(facts, wanted),
    ...(facts.isStandby ? [] : [standbys(facts)]),
    clock(facts),
    statementTimeout(facts),
  ]
}

function serverVersion({ version, versionText }: Facts): Finding {
  if (isSupported(version)) return ok('version', `PostgreSQL ${versionText}`)
  return broken(
    'version',
    'store_version_unsupported',
    `PostgreSQL ${versionText} is too old. Upgrade to ${postgresBounds.oldestVersion} or later.`,
  )
}

function writes({ isStandby, isReadOnly, role }: Facts): Finding {
  if (isStandby)
    return broken('writes', 'store_read_only', 'This server is a standby and takes no writes. Connect to the primary.')
  if (isReadOnly)
    return broken(
      'writes',
      'store_read_only',
      `Transactions are read-only here. Turn default_transaction_read_only off for ${role}, the database or the server.`,
    )
  return ok('writes', 'a primary that takes writes')
}

/** What can be said of the tables: nothing before they are there. */
function schema(facts: Facts, wanted: Wanted): readonly Finding[] {
  const ours = facts.schema
  if (ours?.version === 0 && ours.hasRecords) return [withoutMigrations(ours, wanted)]
  if (ours === undefined || ours.version === 0)
    return [outdated(`There is nothing of Hapax in the schema ${wanted.schema}.`)]
  const known = ours.version === undefined ? [] : [version(ours, ours.version, wanted)]
  const found = [...known, rights(ours, facts)]
  if (!ours.hasRecords) return found
  return [...found, rowSecurity(ours, facts, wanted), table(ours, wanted)]
}

function version({ hasRecords }: SchemaFacts, version: number, { schema }: Wanted): Finding {
  if (version > schemaVersion)
    return broken(
      'schema',
      'store_schema_newer',
      `${schema} is at version ${version}, this release knows ${schemaVersion}. Install the release of hapax that wrote it, or a later one.`,
    )
  if (version < schemaVersion)
    return outdated(`${schema} is at version ${version}, this release needs ${schemaVersion}.`)
  if (hasRecords) return ok('schema', `${schema} is at version ${version}`)
  return lost(`${schema} has lost its table of records.`)
}

function withoutMigrations({ missingParts }: SchemaFacts, { schema }: Wanted): Finding {
  if (missingParts.length === 0) return lost(`${schema} has lost its list of migrations.`)
  return broken(
    'schema',
    'store_schema_outdated',
    `${schema} holds a table named records that is not ours. Choose another schema.`,
  )
}

function lost(what: string): Finding {
  return broken('schema', 'store_schema_outdated', `${what} Restore it from a backup.`)
}

function outdated(what: string): Finding {
  return broken('schema', 'store_schema_outdated', `${what} Run hapax migrate with the role that owns it, or will.`)
}

function rights({ missingRights }: SchemaFacts, { role }: Facts): Finding {
  if (missingRights.length === 0) return ok('rights', `${role} may do what serving needs`)
  return broken(
    'rights',
    'store_rights_missing',
    `${role} lacks ${missingRights.join('; ')}. Run what hapax rights ${role} prints, with the role that owns the schema.`,
  )
}

function rowSecurity(ours: SchemaFacts, { role }: Facts, wanted: Wanted): Finding {
  const { hasRowSecurity, hasPolicy, isBoundByRowSecurity } = ours
  const remedy = `Run what hapax rights ${role} --row-security prints, with the role that owns the schema.`
  if (wanted.rowSecurity === 'off') {
    if (!isBoundByRowSecurity) return ok('row security', 'not asked for')
    return broken(
      'row security',
      'store_rights_missing',
      `Row security hides every record from this store. Make it with rowSecurity: 'scope'.`,
    )
  }
  // Only a warning: the nodes are told first, and the table after that.
  if (!hasRowSecurity) return warning('row security', `Asked for, but not every table has it. ${remedy}`)
  if (!isBoundByRowSecurity)
    return broken(
      'row security',
      'store_rights_missing',
      `Asked for, but ${role} is above it: it owns the table, or may bypass row security. Serve with another role.`,
    )
  if (!hasPolicy)
    return broken('row security', 'store_rights_missing', `No policy lets anybody see a record. ${remedy}`)
  return ok('row security', 'each statement sees one scope')
}

function table({ isLogged, compression, missingParts }: SchemaFacts, { schema, durability }: Wanted): Finding {
  if (missingParts.length > 0)
    return broken(
      'table',
      'store_schema_outdated',
      `${schema} lacks ${missingParts.join(', ')}. Somebody changed it by hand: restore it from a backup.`,
    )
  if (isLogged) return ok('table', `survives a crash; bodies by ${compression}`)
  return notDurable(
    'table',
    durability,
    `Unlogged: a crash empties it, and what was done is done again. ALTER TABLE … SET LOGGED, for every table of ${schema}.`,
  )
}

function synchronousCommit({ synchronousCommit, role }: Facts, { durability }: Wanted): Finding {
  if (synchronousCommit !== 'off') return ok('synchronous_commit', synchronousCommit)
  return notDurable(
    'synchronous_commit',
    durability,
    `synchronous_commit is off: a crash forgets answers that were sent. ALTER ROLE ${role} SET synchronous_commit = on.`,
  )
}

function disk({ isEmbedded, fsync, fullPageWrites }: Facts, { durability }: Wanted): Finding {
  if (isEmbedded)
    return notDurable(
      'disk',
      durability,
      `PGlite never syncs, so it may forget what it acknowledged. Use a server; in tests, say durability: 'unchecked'.`,
    )
  if (fsync !== 'on')
    return notDurable('disk', durability, `fsync is ${fsync}: a power cut loses data, or all of it. Turn it on.`)
  if (fullPageWrites === 'on') return ok('disk', 'fsync and full_page_writes are on')
  return warning(
    'disk',
    `full_page_writes is ${fullPageWrites}: right only on a file system that never tears a page, such as ZFS. Turn it on elsewhere.`,
  )
}

function notDurable(check: string, durability: Durability, says: string): Finding {
  return durability === 'required' ? broken(check, 'store_not_durable', says) : warning(check, says)
}

function standbys({ standbys, synchronousCommit, role }: Facts): Finding {
  const { synchronous, quorum, asynchronous, hidden, areAwaited } = standbys
  if (hidden > 0)
    return warning(
      'standbys',
      `${hidden} that ${role} may not look at. GRANT pg_read_all_stats TO ${role}, or look with another role.`,
    )
  const doWait = areAwaited && !['local', 'off'].includes(synchronousCommit)
  const others = asynchronous === 0 ? '' : `, ${asynchronous} asynchronous`
  if (doWait && quorum > 0)
    return ok('standbys', `${quorum} in a quorum${others}: fail over to the one in the quorum that is furthest ahead`)
  if (doWait && synchronous > 0)
    return ok('standbys', `${synchronous} synchronous${others}: fail over to a synchronous one`)
  if (doWait)
    return warning(
      'standbys',
      'Every commit waits for a standby, and none that it waits for is attached. Start one, or change synchronous_standby_names.',
    )
  const all = synchronous + quorum + asynchronous
  if (all === 0) return ok('standbys', 'none')
  return warning(
    'standbys',
    `${all}, and a commit waits for none: failing over may lose answers that were sent. Set ${
      areAwaited ? 'synchronous_commit to on' : 'synchronous_standby_names'
    }.`,
  )
}

function clock({ clockApartMs }: Facts): Finding {
  const seconds = (clockApartMs / 1_000).toFixed(1)
  if (clockApartMs <= postgresBounds.clockApartMs) return ok('clock', `${seconds} s from this machine's`)
  return warning(
    'clock',
    `${seconds} s from this machine's. Leases hold, since only the server's clock counts; set both by NTP, for your logs.`,
  )
}

function statementTimeout({ statementTimeoutMs, role }: Facts): Finding {
  if (statementTimeoutMs > 0) return ok('statement_timeout', `${statementTimeoutMs} ms`)
  return warning(
    'statement_timeout',
    `None: a statement whose client gave up may go on for ever. ALTER ROLE ${role} SET statement_timeout = '5s'.`,
  )
}

function ok(check: string, says: string): Finding {
  return { check, level: 'ok', says }
}

function warning(check: string, says: string): Finding {
  return { check, level: 'warning', says }
}

function broken(check: string, code: ErrorCode, says: string): Finding {
  return { check, level: 'broken', code, says }
}
