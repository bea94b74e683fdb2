import type { Finding } from '../../engine/finding.js'
import { systemClock } from '../../kernel/clock.js'
import type { ErrorCode } from '../../kernel/errors.js'
import { postgresBounds } from '../../kernel/limits.js'
import type { Connections } from './connections.js'
import type { RowSecurity } from './executor.js'
import { type Facts, factsOf } from './facts.js'
import { schemaVersion } from './migrations/index.js'
import { quoted, versionOf } from './schema.js'

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
  const askedAt = systemClock.now()
  const facts = await factsOf(connections, wanted.schema)
  const appTime = (askedAt + systemClock.now()) / 2
  const isReadable = !facts.missingRights.some((right) => /USAGE|migrations/.test(right))
  const version = isReadable ? await versionOf(connections, quoted(wanted.schema)) : undefined
  return judge({ facts, version, appTime }, wanted)
}

/** What was seen. `version` is the schema's, and unknown without the right to look. */
export interface Seen {
  readonly facts: Facts
  readonly version: number | undefined
  readonly appTime: number
}

export function judge({ facts, version, appTime }: Seen, wanted: Wanted): readonly Finding[] {
  return [
    serverVersion(facts),
    writes(facts),
    ...(version === undefined ? [] : [schema(wanted, version)]),
    ...(version === 0 ? [] : [rights(facts), rowSecurity(facts, wanted), compression(facts)]),
    synchronousCommit(facts, wanted),
    disk(facts, wanted),
    standbys(facts),
    clock(facts, appTime),
    statementTimeout(facts),
  ]
}

function serverVersion({ version, versionText }: Facts): Finding {
  const oldest = postgresBounds.oldestVersion
  if (version >= oldest * 10_000) return ok('version', `PostgreSQL ${versionText}`)
  return broken(
    'version',
    'store_version_unsupported',
    `PostgreSQL ${versionText} is too old. Upgrade to ${oldest} or later.`,
  )
}

function writes({ isStandby, isReadOnly }: Facts): Finding {
  if (isStandby)
    return broken('writes', 'store_read_only', 'This server is a standby and takes no writes. Connect to the primary.')
  if (isReadOnly)
    return broken(
      'writes',
      'store_read_only',
      'Transactions are read-only here. Unset default_transaction_read_only for this role.',
    )
  return ok('writes', 'a primary that takes writes')
}

function schema(wanted: Wanted, version: number): Finding {
  const name = wanted.schema
  if (version === schemaVersion) return ok('schema', `${name} is at version ${version}`)
  if (version > schemaVersion)
    return broken(
      'schema',
      'store_schema_newer',
      `${name} is at version ${version}, this release knows ${schemaVersion}. Install the release of hapax that wrote it, or a later one.`,
    )
  const what =
    version === 0
      ? `There is no schema ${name}`
      : `${name} is at version ${version}, this release needs ${schemaVersion}`
  return broken('schema', 'store_schema_outdated', `${what}. Run hapax migrate with the role that owns it.`)
}

function rights({ missingRights, role }: Facts): Finding {
  if (missingRights.length === 0) return ok('rights', `${role} may do what serving needs`)
  return broken(
    'rights',
    'store_rights_missing',
    `${role} lacks ${missingRights.join(', ')}. Run what hapax rights ${role} prints, with the role that owns the schema.`,
  )
}

function rowSecurity({ hasRowSecurity, isBoundByRowSecurity, role }: Facts, wanted: Wanted): Finding {
  if (wanted.rowSecurity === 'off') {
    if (!isBoundByRowSecurity) return ok('row security', 'not asked for')
    return broken(
      'row security',
      'store_rights_missing',
      `Row security hides every record. Make the store with rowSecurity: 'scope'.`,
    )
  }
  if (!hasRowSecurity)
    return warning('row security', 'Asked for, but the table has none. Run what hapax rights --row-security prints.')
  if (!isBoundByRowSecurity)
    return warning('row security', `Asked for, but ${role} is above it: it owns the table, or may bypass row security.`)
  return ok('row security', 'each statement sees one scope')
}

function compression({ compression }: Facts): Finding {
  return ok(
    'compression',
    compression === 'lz4' ? 'bodies by lz4' : 'bodies by pglz, this server was built without lz4',
  )
}

function synchronousCommit({ synchronousCommit }: Facts, { durability }: Wanted): Finding {
  if (synchronousCommit !== 'off') return ok('synchronous_commit', synchronousCommit)
  return notDurable(
    'synchronous_commit',
    durability,
    'off: a crash forgets answers that were sent. Set it to on for this role.',
  )
}

function disk({ fsync, fullPageWrites }: Facts, { durability }: Wanted): Finding {
  if (fsync === 'on' && fullPageWrites === 'on') return ok('disk', 'fsync and full_page_writes are on')
  return notDurable(
    'disk',
    durability,
    `fsync is ${fsync} and full_page_writes ${fullPageWrites}: a power cut loses data. Turn both on.`,
  )
}

function notDurable(check: string, durability: Durability, says: string): Finding {
  return durability === 'required' ? broken(check, 'store_not_durable', says) : warning(check, says)
}

function standbys({ synchronousStandbys, asynchronousStandbys, hiddenStandbys, synchronousCommit }: Facts): Finding {
  if (hiddenStandbys > 0)
    return warning(
      'standbys',
      `${hiddenStandbys} that this role may not look at. Grant it pg_monitor, or look with another one.`,
    )
  if (synchronousStandbys > 0 && synchronousCommit !== 'local')
    return ok(
      'standbys',
      `${synchronousStandbys} synchronous, ${asynchronousStandbys} asynchronous: fail over to a synchronous one`,
    )
  const all = synchronousStandbys + asynchronousStandbys
  if (all === 0) return ok('standbys', 'none')
  return warning(
    'standbys',
    `${all}, and a commit waits for none of them: failing over may lose answers that were sent. Set synchronous_standby_names, and synchronous_commit to on.`,
  )
}

function clock({ serverTime }: Facts, appTime: number): Finding {
  const apartMs = Math.abs(serverTime - appTime)
  const seconds = (apartMs / 1_000).toFixed(1)
  if (apartMs <= postgresBounds.clockApartMs) return ok('clock', `${seconds} s from this machine's`)
  return warning(
    'clock',
    `${seconds} s from this machine's. Leases hold, since only the server's counts; mend it for your logs.`,
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
