import { open, rm } from 'node:fs/promises'
import type { Command } from 'commander'
import type { Paged } from '../admin/paging.js'
import type { AuditView } from '../admin/views.js'
import { systemClock } from '../kernel/clock.js'
import { adminBounds } from '../kernel/limits.js'
import { ago } from './ago.js'
import { atDesk, type Desk, type DeskFlags, deskCommand } from './desk.js'
import { exitCodes } from './exit.js'
import { filledPage, pagedBy } from './pages.js'
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
    .option('--limit <count>', 'how many of it (default: 50)')
    .option('--after <place>', 'from where the last list has ended')
    .action((where: string, flags: AuditFlags) => {
      const paged = pagedBy(flags)
      return atDesk(where, flags, (desk) => list(desk, paged, flags))
    })
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

async function list({ admin }: Desk, paged: Paged, { scope, key, json }: AuditFlags): Promise<void> {
  if ((scope === undefined) !== (key === undefined)) throw usage('--scope and --key go together.')
  const about = scope === undefined || key === undefined ? {} : { about: { scope, key } }
  const page = await filledPage(admin.audit, { order: 'newest', ...about, ...paged })
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

async function verify(desk: Desk, anchor: Anchored | undefined, { json }: AuditFlags): Promise<void> {
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

/** Where an export goes: each page is taken before the next is asked for. */
type Write = (text: string) => Promise<void>

async function exported({ admin }: Desk, { to }: AuditFlags): Promise<void> {
  const last = await (to === undefined ? exportedBy(admin, toStandardOutput) : intoFile(to, admin))
  console.error(`${entryCount(last)}, the last is ${anchorText(last)}`)
}

function toStandardOutput(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}

/** A file that is there already may be the export that somebody needs. What was written of one that failed is none. */
async function intoFile(path: string, admin: Desk['admin']): Promise<Anchored> {
  const file = await open(path, 'wx').catch((error: NodeJS.ErrnoException) => {
    throw usage(`--to ${path} cannot be written: ${unwritable[error.code ?? ''] ?? error.message}.`)
  })
  try {
    return await exportedBy(admin, (text) => file.appendFile(text))
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

const unwritable: Readonly<Record<string, string>> = {
  EEXIST: 'it is there already; name another file',
  ENOENT: 'its folder is not there; make it first',
  EISDIR: 'it is a folder; name a file in it',
  EACCES: 'you may not write there',
}

interface Anchored {
  readonly sequence: number
  readonly hash: string
}

async function exportedBy(admin: Desk['admin'], write: Write): Promise<Anchored> {
  const bar = progressBar('exported')
  let last: Anchored = { sequence: 0, hash: '' }
  let after: string | undefined
  do {
    const page = await admin.audit({
      order: 'oldest',
      limit: adminBounds.largestPage,
      ...(after !== undefined && { after }),
    })
    await write(page.items.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
    last = page.items.at(-1) ?? last
    bar.count(last.sequence)
    after = page.next
  } while (after !== undefined)
  bar.end()
  return last
}

function entryCount({ sequence }: Pick<Anchored, 'sequence'>): string {
  return sequence === 1 ? '1 entry' : `${sequence} entries`
}

function anchorText({ sequence, hash }: Anchored): string {
  return `${sequence}:${hash}`
}

function anchorIn(text: string | undefined): Anchored | undefined {
  if (text === undefined) return undefined
  const [, sequence, hash] = /^(\d+):([0-9a-f]*)$/.exec(text) ?? []
  if (sequence === undefined || hash === undefined) throw usage('--anchor is what export prints last, like 812:9f2c….')
  return { sequence: Number(sequence), hash }
}
