import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { Command } from 'commander'
import type { AuditView } from '../admin/views.js'
import { systemClock } from '../kernel/clock.js'
import { adminBounds } from '../kernel/limits.js'
import { ago } from './ago.js'
import { atDesk, type Desk, type DeskFlags, deskCommand } from './desk.js'
import { exitCodes } from './exit.js'
import { progressBar } from './progress-bar.js'
import { table } from './table.js'
import { usage } from './usage.js'

const examples = `
Examples:
  hapax audit list http://localhost:3000/admin                    what people did, the last first
  hapax audit list .data/hapax.db --scope acme --key order-41     to one key
  hapax audit verify postgres://hapax_serving@db/app              whether it is as it was written
  hapax audit verify … --anchor 812:9f2c…                         and whether it still holds what was exported then
  hapax audit export … --to audit.jsonl                           all of it, a line for each entry

Each entry has the hash of the one before it. Keep what export prints last, 812:9f2c…, where nobody can write who can write
to the database: with it verify also finds a log that was made anew as a whole.

Exit codes: 0 it is whole, or done; 1 it is not as it was written, or it failed; 2 wrong usage.`

interface AuditFlags extends DeskFlags {
  readonly scope?: string
  readonly key?: string
  readonly limit?: string
  readonly after?: string
  readonly anchor?: string
  readonly to?: string
}

/** `hapax audit list | verify | export` */
export function addAudit(program: Command): void {
  const audit = program
    .command('audit')
    .description('what people did: list it, check it, export it')
    .addHelpText('after', examples)
  deskCommand(audit, 'list', 'list what people did, the last first')
    .option('--scope <scope>', 'with --key: only to this key')
    .option('--key <key>', 'with --scope: only to this key')
    .option('--after <place>', 'the page behind this one')
    .action((where: string, flags: AuditFlags) => atDesk(where, flags, (desk) => list(desk, flags)))
  deskCommand(audit, 'verify', 'check that nothing was edited, taken out or put elsewhere')
    .option('--anchor <number:hash>', 'the end of an export, kept elsewhere')
    .action((where: string, flags: AuditFlags) => {
      const anchor = anchorIn(flags.anchor)
      return atDesk(where, flags, (desk) => verify(desk, anchor, flags))
    })
  deskCommand(audit, 'export', 'write all entries as JSON lines')
    .option('--to <file>', 'into this file (default: the standard output)')
    .action((where: string, flags: AuditFlags) => atDesk(where, flags, (desk) => exported(desk, flags)))
}

async function list({ admin }: Desk, { scope, key, after, json }: AuditFlags): Promise<void> {
  if ((scope === undefined) !== (key === undefined)) throw usage('--scope and --key go together.')
  const about = scope === undefined || key === undefined ? {} : { about: { scope, key } }
  const page = await admin.audit({ order: 'newest', ...about, ...(after !== undefined && { after }) })
  console.log(json ? JSON.stringify(page) : entriesText(page.items, page.next))
}

function entriesText(entries: readonly AuditView[], next: string | undefined): string {
  if (entries.length === 0) return 'Nobody did anything.'
  const now = systemClock.now()
  const rows = entries.map(({ sequence, at, who, action, scope, subject, why, before, after }) => [
    String(sequence),
    ago(at, now),
    who,
    action,
    scope,
    subject.slice(0, 'record:'.length + 8),
    `${stateIn(before)} → ${stateIn(after)}: ${why}`,
  ])
  const heads = ['#', 'age', 'who', 'action', 'scope', 'subject', 'state, and why']
  const lines = table(heads, rows, process.stdout.columns)
  return [...lines, ...(next === undefined ? [] : [`\nThere are more: --after ${next}`])].join('\n')
}

function stateIn(view: unknown): string {
  return (view as { state?: string } | null)?.state ?? '-'
}

async function verify(
  desk: Desk,
  anchor: { sequence: number; hash: string } | undefined,
  { json }: AuditFlags,
): Promise<void> {
  const bar = progressBar('verified')
  const came = await (desk.kind === 'here' ? desk.admin.verify(anchor, bar.show) : desk.admin.verify(anchor))
  bar.end()
  if (came.kind === 'broken') process.exitCode = exitCodes.failed
  if (json) return console.log(JSON.stringify(came))
  if (came.kind === 'whole' && came.head.sequence === 0) console.log('The audit log is whole: nobody did anything yet.')
  else if (came.kind === 'whole')
    console.log(`The audit log is whole: ${entryCount(came.head)}, the last is\n${anchorText(came.head)}`)
  else console.log(`The audit log is not as it was written: entry ${came.sequence} is ${words[came.what]}.`)
}

const words = {
  edited: 'not what it was',
  missing: 'missing',
  moved: 'not where it was',
  cut: 'where it ends, and that is not where it was left',
  replaced: 'not the one that was written down elsewhere',
} as const

async function exported({ admin }: Desk, { to }: AuditFlags): Promise<void> {
  const out = to === undefined ? process.stdout : createWriteStream(to, { flags: 'wx' })
  const bar = progressBar('exported')
  let last = { sequence: 0, hash: '' }
  let after: string | undefined
  do {
    const page = await admin.audit({
      order: 'oldest',
      limit: adminBounds.largestPage,
      ...(after !== undefined && { after }),
    })
    for (const entry of page.items) {
      out.write(`${JSON.stringify(entry)}\n`)
      last = entry
    }
    bar.count(last.sequence)
    after = page.next
  } while (after !== undefined)
  bar.end()
  if (out !== process.stdout) await finished(out.end())
  console.error(`${entryCount(last)}, the last is ${anchorText(last)}`)
}

function entryCount({ sequence }: { readonly sequence: number }): string {
  return sequence === 1 ? '1 entry' : `${sequence} entries`
}

function anchorText({ sequence, hash }: { readonly sequence: number; readonly hash: string }): string {
  return `${sequence}:${hash}`
}

function anchorIn(text: string | undefined): { sequence: number; hash: string } | undefined {
  if (text === undefined) return undefined
  const [, sequence, hash] = /^(\d+):([0-9a-f]*)$/.exec(text) ?? []
  if (sequence === undefined || hash === undefined) throw usage('--anchor is what export prints last, like 812:9f2c….')
  return { sequence: Number(sequence), hash }
}
