import type { Command } from 'commander'
import type { Finding } from '../engine/finding.js'
import { isHapaxError } from '../kernel/errors.js'
import { postgresStore } from '../stores/postgres/index.js'
import { redisStore } from '../stores/redis/index.js'
import { examineSqlite } from '../stores/sqlite/examine.js'
import { type Database, databaseArgument, databaseOf, refuseForSqlite } from './database.js'
import { exitCodes } from './exit.js'
import { withPostgres } from './postgres.js'
import { type RedisServer, redisServerOf, withRedis } from './redis.js'
import { remoteAdmin } from './remote.js'
import { table } from './table.js'
import { usage } from './usage.js'

const examples = `
Examples:
  hapax doctor postgres://hapax_serving@db/app                  with the role that serves
  hapax doctor postgres://hapax_serving@db/app --row-security   where the store has rowSecurity: 'scope'
  hapax doctor .data/hapax.db                                   a SQLite file; reads all of it
  hapax doctor redis://cache:6379 --prefix newsletter           a Redis that keeps records
  hapax doctor http://localhost:3000/admin                      what a running application finds by its own connection
  hapax doctor postgres://hapax_serving@db/app --json           for a script

Looks at whatever a promise of Hapax depends on, and changes nothing. What is broken, a store refuses to open on;
a warning is for you to judge. Use the role that serves: rights and settings differ from role to role. An application is
asked by its admin URL, and does not read a SQLite file for damage while it serves.

Exit codes: 0 nothing is broken, 1 something is, 2 wrong usage.`

interface DoctorFlags {
  readonly schema?: string
  readonly rowSecurity?: boolean
  readonly prefix?: string
  readonly json?: boolean
}

/** `hapax doctor <database>` */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('look at a database for whatever would break a promise')
    .argument('<database>', `${databaseArgument}, or redis://<host>:<port>, or an admin URL`)
    .option('--schema <name>', 'the schema in PostgreSQL (default: hapax)')
    .option('--row-security', 'expect row security by scope, in PostgreSQL')
    .option('--prefix <name>', 'what keys begin with in Redis (default: hapax)')
    .option('--json', 'print one JSON object instead of a table')
    .addHelpText('after', examples)
    .action(async (given: string, flags: DoctorFlags) => {
      const database = examinable(given)
      const findings = await examined(database, flags)
      const name = database.kind === 'sqlite' ? database.path : database.label
      console.log(flags.json ? asJson(name, findings) : asText(name, findings))
      if (count(findings, 'broken') > 0) process.exitCode = exitCodes.failed
    })
}

/** A Redis is looked at by this command alone: all others are about what commits. */
type Examinable =
  | Database
  | ({ readonly kind: 'redis' } & RedisServer)
  | { readonly kind: 'admin'; readonly url: string; readonly label: string }

function examinable(given: string): Examinable {
  if (/^https?:\/\//i.test(given))
    return { kind: 'admin', url: given, label: given.replace(/^(https?:\/\/)[^/]*@/i, '$1') }
  const redis = redisServerOf(given)
  return redis === undefined ? databaseOf(given) : { kind: 'redis', ...redis }
}

/** A database that cannot be looked at is a finding too. A database that was named wrongly is not. */
async function examined(database: Examinable, flags: DoctorFlags): Promise<readonly Finding[]> {
  try {
    return await examine(database, flags)
  } catch (error) {
    if (!isHapaxError(error) || error.code === 'store_unknown') throw error
    return [{ check: 'server', level: 'broken', code: error.code, says: error.message }]
  }
}

async function examine(database: Examinable, flags: DoctorFlags): Promise<readonly Finding[]> {
  const { schema, rowSecurity, prefix } = flags
  if (prefix !== undefined && database.kind !== 'redis') throw usage('Only a Redis knows --prefix. Leave it out.')
  switch (database.kind) {
    case 'admin':
      if (schema !== undefined || rowSecurity) throw usage('An admin URL knows its schema and its row security.')
      return (await remoteAdmin(database.url, process.env.HAPAX_ADMIN_TOKEN).health()).findings
    case 'redis':
      if (schema !== undefined || rowSecurity) throw usage('A Redis knows neither --schema nor --row-security.')
      return withRedis(database, (client) => redisStore({ client, ...(prefix !== undefined && { prefix }) }).examine())
    case 'sqlite':
      refuseForSqlite('--schema', schema)
      refuseForSqlite('--row-security', rowSecurity)
      return examineSqlite({ path: database.path })
    case 'postgres': {
      const options = { rowSecurity: rowSecurity ? 'scope' : 'off', ...(schema !== undefined && { schema }) } as const
      return withPostgres(database, (pool) => postgresStore({ pool, ...options }).examine())
    }
  }
}

function asJson(database: string, findings: readonly Finding[]): string {
  const counts = { ok: count(findings, 'ok'), warnings: count(findings, 'warning'), broken: count(findings, 'broken') }
  return JSON.stringify({ database, ...counts, findings })
}

function asText(database: string, findings: readonly Finding[]): string {
  const rows = findings.map((finding) => [finding.check, finding.level, saying(finding)])
  return [
    `${database}\n`,
    ...table(['check', 'verdict', 'what was found, and what to do'], rows, process.stdout.columns),
    `\n${summary(findings)}`,
  ].join('\n')
}

function saying(finding: Finding): string {
  return finding.level === 'broken' ? `${finding.says} (${finding.code})` : finding.says
}

function summary(findings: readonly Finding[]): string {
  const broken = count(findings, 'broken')
  const warnings = count(findings, 'warning')
  const counted = `${broken} broken, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${count(findings, 'ok')} ok`
  return broken === 0 ? `Fit to serve: ${counted}.` : `Not fit to serve: ${counted}.`
}

function count(findings: readonly Finding[], level: Finding['level']): number {
  return findings.filter((finding) => finding.level === level).length
}
