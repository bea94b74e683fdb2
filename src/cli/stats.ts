import type { Command } from 'commander'
import { atDesk, type Desk, type DeskFlags, deskCommand } from './desk.js'
import { table } from './table.js'

const examples = `
Examples:
  hapax stats http://localhost:3000/admin     health, workers and tenants, on one screen
  hapax stats .data/hapax.db --json

Workers and rates are those of the process that is asked: a database alone knows of neither.

Exit codes: 0 shown, 1 failed, 2 wrong usage.`

/** `hapax stats <where>` */
export function addStats(program: Command): void {
  deskCommand(program, 'stats', 'how things stand: health, doubts, dead letters, workers, tenants')
    .addHelpText('after', examples)
    .action((where: string, flags: DeskFlags) => atDesk(where, flags, (desk) => stats(desk, flags)))
}

/** More than these are "many" on one screen. */
const counted = 500

async function stats({ admin }: Desk, { json }: DeskFlags): Promise<void> {
  const health = await admin.health()
  const counts: Record<string, string> = {}
  for (const state of ['in_progress', 'unknown', 'failed_retryable'] as const)
    counts[state] = countText(await admin.find({ state, order: 'oldest', limit: counted }))
  const dead = await admin.deadLetters({ limit: 100 }).catch(() => undefined)
  if (dead !== undefined) counts.dead = countText(dead)
  const workers = await admin.workers()
  const tenants = await admin.tenants({ limit: 10 })
  if (json) return console.log(JSON.stringify({ health, counts, workers, tenants }))
  const broken = health.findings.filter(({ level }) => level !== 'ok')
  console.log(`${health.store} (${health.grade}): ${health.fit ? 'fit to serve' : 'not fit to serve'}`)
  for (const { check, level, says } of broken) console.log(`  ${level} ${check}: ${says}`)
  console.log('')
  for (const [what, count] of Object.entries(counts)) console.log(`${what.padEnd(18)}${count}`)
  if (workers.length > 0) {
    const rows = workers.map(({ name, last_pass_at = 'never', last_did = {}, error_code = '' }) => [
      name,
      last_pass_at,
      error_code,
      Object.entries(last_did)
        .map(([did, count]) => `${count} ${did}`)
        .join(', ') || '-',
    ])
    console.log(['', ...table(['worker', 'last pass', 'error', 'did'], rows, process.stdout.columns)].join('\n'))
  }
  if (tenants.items.length > 0) {
    const rows = tenants.items.map(({ tenant, rates, quotas }) => [
      tenant,
      String(rates?.requests ?? '-'),
      rates === undefined ? '-' : `${(rates.duplicates * 100).toFixed(1)}%`,
      String(quotas.active_keys ?? '-'),
    ])
    console.log(
      ['', ...table(['tenant', 'requests', 'duplicates', 'key quota'], rows, process.stdout.columns)].join('\n'),
    )
  }
}

function countText({ items, next }: { readonly items: readonly unknown[]; readonly next?: string }): string {
  return next === undefined ? String(items.length) : `${items.length} or more`
}
