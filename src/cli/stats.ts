import type { Command } from 'commander'
import type { Health } from '../admin/health.js'
import type { Listed } from '../admin/paging.js'
import type { StatsView } from '../admin/stats.js'
import type { TenantView } from '../admin/tenants.js'
import type { WorkerView } from '../admin/worker-watch.js'
import { systemClock } from '../kernel/clock.js'
import { age, ago } from './ago.js'
import { atDesk, type Desk, type DeskFlags, deskCommand } from './desk.js'
import { paint } from './paint.js'
import { table } from './table.js'

const examples = `
Examples:
  hapax stats http://localhost:3000/admin     health, workers and tenants, on one screen
  hapax stats .data/hapax.db --json

Up to 10,000 of each are counted. Workers and rates are those of the process that is asked: a database alone knows of
neither.

Exit codes: 0 shown, 1 failed, 2 wrong usage.`

/** `hapax stats <where>` */
export function addStats(program: Command): void {
  deskCommand(program, 'stats', 'how things stand: health, doubts, dead letters, workers, tenants')
    .addHelpText('after', examples)
    .action((where: string, flags: DeskFlags) => atDesk(where, flags, (desk) => stats(desk, flags)))
}

async function stats(desk: Desk, { json }: DeskFlags): Promise<void> {
  const { admin } = desk
  const health = await admin.health()
  const stats = await admin.stats()
  const workers = await admin.workers()
  const tenants = await admin.tenants({ limit: shownTenants })
  if (json) return console.log(JSON.stringify({ health, stats, workers, tenants }))
  const parts = [healthLines(health), countLines(stats), workerLines(workers, desk), tenantLines(tenants)]
  console.log(
    parts
      .filter((lines) => lines.length > 0)
      .map((lines) => lines.join('\n'))
      .join('\n\n'),
  )
}

/** What fits on a screen beside the rest. */
const shownTenants = 10

function healthLines({ store, grade, fit, findings }: Health): readonly string[] {
  const wrong = findings.filter(({ level }) => level !== 'ok')
  return [
    `${store} (${grade}): ${fit ? paint('green', 'fit to serve') : paint('red', 'not fit to serve')}`,
    ...wrong.map(({ level, check, says }) => `  ${level} ${check}: ${says}`),
  ]
}

function countLines({ keys, in_progress, unknown, effects, counted_to }: StatsView): readonly string[] {
  const counted = (count: number) => (count >= counted_to ? `${count} or more` : String(count))
  const oldest = (ms: number) => (ms === 0 ? '' : `the oldest for ${age(ms)}`)
  const left = (people: number) => (people === 0 ? '' : `${counted(people)} left to a person`)
  const line = (what: string, count: number, ...notes: readonly string[]) => [
    what,
    counted(count),
    notes.filter((note) => note !== '').join(', '),
  ]
  const rows = [
    line('keys', keys),
    line('in progress', in_progress.count, oldest(in_progress.oldest_ms)),
    line('unknown', unknown.count, oldest(unknown.oldest_ms), left(unknown.left_to_operator)),
    ...(effects === undefined
      ? []
      : [
          line('effects waiting', effects.waiting, effects.lag_ms === 0 ? '' : `the first for ${age(effects.lag_ms)}`),
          line(
            'effects unknown',
            effects.unknown.count,
            oldest(effects.unknown.oldest_ms),
            left(effects.unknown.left_to_operator),
          ),
          line('effects dead', effects.dead),
        ]),
  ]
  return table(['what', 'count', ''], rows, process.stdout.columns)
}

/** A worker runs in a process: who asks a database, or another process, is told that he sees none of the others. */
function workerLines(workers: readonly WorkerView[], { kind }: Desk): readonly string[] {
  if (kind === 'here') return ['Workers are not seen from here: ask the admin URL of the process that runs them.']
  if (workers.length === 0) return ['No worker has made a pass in the process that was asked.']
  const now = systemClock.now()
  const rows = workers.map(({ name, last_pass_at, last_did = {}, last_failed_at, error_code }) => [
    name,
    last_pass_at === undefined ? 'never' : `${ago(last_pass_at, now)} ago`,
    last_failed_at === undefined ? '-' : `${ago(last_failed_at, now)} ago`,
    error_code ?? '-',
    Object.entries(last_did)
      .filter(([, count]) => count > 0)
      .map(([did, count]) => `${count} ${did}`)
      .join(', ') || '-',
  ])
  const heads = ['worker', 'last pass', 'last failed', 'error now', 'did']
  const pauses = workers.flatMap(({ paused = [] }) => paused)
  return [
    'Workers of the process that was asked:',
    ...table(heads, rows, process.stdout.columns),
    ...pauses.map(({ of, until }) => `The provider of ${of} did not answer, and is left alone until ${until}.`),
  ]
}

function tenantLines({ items, next }: Listed<TenantView>): readonly string[] {
  if (items.length === 0) return []
  const part = (rate: number | undefined) => (rate === undefined ? '-' : `${(rate * 100).toFixed(1)}%`)
  const rows = items.map(({ tenant, rates, quotas }) => [
    tenant,
    String(rates?.requests ?? '-'),
    part(rates?.duplicates),
    part(rates?.conflicts),
    part(rates?.mismatches),
    String(quotas.active_keys ?? '-'),
  ])
  const heads = ['tenant', 'requests', 'duplicates', 'conflicts', 'mismatches', 'key quota']
  const more = next === undefined ? [] : ['… and more']
  return [...table(heads, rows, process.stdout.columns), ...more]
}
