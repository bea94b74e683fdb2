import type { Command } from 'commander'
import type { Admin, FindQuery } from '../admin/admin.js'
import { plainStates } from '../admin/plain-states.js'
import type { Story } from '../admin/story.js'
import type { RecordView } from '../admin/views.js'
import { scopeOf } from '../engine/scope.js'
import { states } from '../engine/state.js'
import { sleep, systemClock } from '../kernel/clock.js'
import { parseDuration } from '../kernel/duration.js'
import { adminBounds, limits } from '../kernel/limits.js'
import { ago } from './ago.js'
import { atDesk, type Desk, type DeskFlags, deskCommand } from './desk.js'
import { exitCodes } from './exit.js'
import { factsText } from './facts.js'
import { filledPage, pagedBy, pageText } from './pages.js'
import { paint, painted } from './paint.js'
import { stopSignal } from './stop-signal.js'
import { table } from './table.js'
import { usage, wholeOf } from './usage.js'

const examples = `
Examples:
  hapax keys find http://localhost:3000/admin --tenant acme            the newest keys of a tenant
  hapax keys find postgres://hapax_serving@db/app --key 8e03978e-…     one key, in whatever scope it is
  hapax keys find .data/hapax.db --prefix order-2026 --state failed_retryable
  hapax keys find http://localhost:3000/admin --since 1h --status 402  what was declined in the last hour
  hapax keys show http://localhost:3000/admin acme 8e03978e-…          its whole story
  hapax keys tail http://localhost:3000/admin                          what happens, as it happens, over restarts of a minute

A list goes through the records in pages of ${limits.looked}, by an index, until it has found --limit of them, or for ${adminBounds.pagesLookedAt} pages.
--after goes on behind them.

Exit codes: 0 found, or shown; 1 there is none, or it failed; 2 wrong usage;
${exitCodes.notAllLookedAt} none was found on ${adminBounds.pagesLookedAt} pages, and there are more.`

interface FindFlags extends DeskFlags {
  readonly tenant?: string
  readonly scope?: string
  readonly state?: string
  readonly operation?: string
  readonly key?: string
  readonly prefix?: string
  readonly status?: string
  readonly resource?: string
  readonly since?: string
  readonly until?: string
  readonly oldest?: boolean
  readonly limit?: string
  readonly after?: string
}

interface TailFlags extends DeskFlags {
  readonly all?: boolean
}

/** `hapax keys find | show | tail` */
export function addKeys(program: Command): void {
  const keys = program
    .command('keys')
    .description('find keys, and read what became of them')
    .addHelpText('after', examples)
  deskCommand(keys, 'find', 'list keys by whatever is known of them')
    .option('--tenant <name>', 'in all scopes of this tenant')
    .option('--scope <scope>', 'in this scope, as a list shows it')
    .option('--state <state>', `in this state: ${states.join(', ')}; or processing (runs, or is in doubt), failed`)
    .option('--operation <name>', 'of this route or operation')
    .option('--key <key>', 'with exactly this key')
    .option('--prefix <text>', 'with a key that begins like this')
    .option('--status <code>', 'answered with this status')
    .option('--resource <location>', 'whose answer leads there by its Location')
    .option('--since <time>', 'begun from then on: a time, or how long ago, like 2h')
    .option('--until <time>', 'begun before then')
    .option('--oldest', 'the oldest first (default: the newest)')
    .option('--limit <count>', 'how many of them (default: 50)')
    .option('--after <place>', 'from where the last list has ended')
    .action((where: string, flags: FindFlags) => {
      const query = queryOf(flags)
      return atDesk(where, flags, (desk) => find(desk.admin, query, flags))
    })
  deskCommand(keys, 'show', 'tell the whole story of one key')
    .argument('<scope>', 'whose key it is')
    .argument('<key>', 'the key')
    .action((where: string, scope: string, key: string, flags: DeskFlags) =>
      atDesk(where, flags, async ({ admin }) => {
        const story = await admin.story({ scope, key })
        console.log(flags.json ? JSON.stringify(story) : storyText(story))
      }),
    )
  deskCommand(keys, 'tail', 'follow what happens; of a database only new keys are seen')
    .option('--all', 'also passes of workers that found nothing, and every answer of the store')
    .action((where: string, flags: TailFlags) => atDesk(where, flags, (desk) => tail(desk, flags)))
}

async function find(admin: Pick<Admin, 'find'>, query: FindQuery, flags: FindFlags): Promise<void> {
  const page = await filledPage(admin.find, query)
  console.log(flags.json ? JSON.stringify(page) : recordsText(page.items, page.next))
  if (page.items.length === 0) process.exitCode = page.next === undefined ? exitCodes.failed : exitCodes.notAllLookedAt
}

export function recordsText(records: readonly RecordView[], next: string | undefined): string {
  const now = systemClock.now()
  const rows = records.map((record) => [
    ago(record.created_at, now),
    record.scope,
    record.key,
    record.operation,
    record.error_code ?? String(record.status ?? ''),
    painted(record.state),
  ])
  const heads = ['age', 'scope', 'key', 'operation', 'status', 'state']
  const lines = records.length === 0 ? [] : table(heads, rows, process.stdout.columns)
  return pageText(lines, next, { none: 'No key was found.' })
}

export function storyText({ record, sentences, calls, effects }: Story): string {
  return factsText(
    [
      ['key', record.key],
      ['scope', record.scope],
      ['operation', record.operation],
      ['state', painted(record.state)],
      ...calls.map(({ phase, downstream_key, state }) => ['call', `${phase} ${state} ${downstream_key}`] as const),
      ...effects.map(({ id, kind, state }) => ['effect', `${id} ${kind} ${state}`] as const),
    ],
    sentences,
  )
}

/** Until somebody has seen enough. */
async function tail(desk: Desk, { json, all }: TailFlags): Promise<void> {
  const stopping = new AbortController()
  void stopSignal().then(() => stopping.abort())
  const print = (name: string, data: object) =>
    console.log(json ? JSON.stringify({ event: name, ...data }) : `${paint('bold', name.padEnd(20))} ${wordsIn(data)}`)
  if (desk.kind === 'there') {
    const events = desk.admin.events(stopping.signal, (what) => console.error(`hapax: ${changes[what]}`))
    for await (const { name, data } of events) if (all || !isIdle(name, data as object)) print(name, data as object)
    return
  }
  let last = (await desk.admin.find({ order: 'newest', limit: 1 })).items[0]?.id ?? 0
  while (!stopping.signal.aborted) {
    const page = await desk.admin.find({ order: 'oldest', after: String(last), limit: 500 })
    for (const record of page.items) {
      print('reserved', { scope: record.scope, key: record.key, operation: record.operation, state: record.state })
      last = record.id
    }
    await sleep(systemClock, tailMs, stopping.signal)
  }
}

const tailMs = 1_000

const changes = {
  lost: 'The admin API has ended the stream, or is gone; it is tried again for a minute.',
  back: 'The admin API is back. What happened meanwhile was missed.',
} as const

/** What comes all the time, whether anything happens or not. */
function isIdle(name: string, data: object): boolean {
  const { did = {} } = data as { did?: object }
  return name === 'store_answered' || (name === 'worker_passed' && Object.keys(did).length === 0)
}

function wordsIn(data: object): string {
  return Object.entries(data)
    .map(([name, value]) => `${name}=${wordOf(value)}`)
    .join(' ')
}

function wordOf(value: unknown): string {
  if (typeof value === 'number') return String(Math.round(value * 10) / 10)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function queryOf(flags: FindFlags): FindQuery {
  const { tenant, scope, state, operation, key, prefix, status, resource, since, until, oldest } = flags
  if (key !== undefined && prefix !== undefined) throw usage('Give --key or --prefix, not both.')
  return {
    order: oldest ? 'oldest' : 'newest',
    ...(tenant !== undefined && { tenant: scopeOf(tenant) }),
    ...(scope !== undefined && { scope }),
    ...(state !== undefined && stateIn(state)),
    ...(operation !== undefined && { operation }),
    ...(key !== undefined && { key: { is: key } }),
    ...(prefix !== undefined && { key: { startsWith: prefix } }),
    ...(status !== undefined && { status: wholeOf('--status', status) }),
    ...(resource !== undefined && { resource }),
    ...(since !== undefined && { since: timeOf('--since', since) }),
    ...(until !== undefined && { until: timeOf('--until', until) }),
    ...pagedBy(flags),
  }
}

/** In our words, or in the three plain ones. */
function stateIn(word: string): Pick<FindQuery, 'state' | 'plainState'> {
  const state = states.find((one) => one === word)
  if (state !== undefined) return { state }
  const plainState = plainStates.find((one) => one === word)
  if (plainState !== undefined) return { plainState }
  throw usage(`There is no state "${word}"; there are ${[...new Set([...states, ...plainStates])].join(', ')}.`)
}

/** A time, or how long ago. */
function timeOf(flag: string, text: string): number {
  if (/^\d+(ms|s|m|h|d)$/.test(text)) return systemClock.now() - parseDuration(text as '1s', flag)
  const ms = Date.parse(text)
  if (!Number.isNaN(ms)) return ms
  throw usage(`${flag} is ${JSON.stringify(text)}; give a time like 2026-02-28T12:00:00Z, or how long ago, like 2h.`)
}
