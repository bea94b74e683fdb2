import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Asked, Bench, Measured } from '../harness/bench.js'
import { closing } from '../harness/closing.js'
import { durablePostgres, type Postgres } from '../harness/postgres.js'
import type { ServerTime } from '../harness/server-time.js'
import { type Cell, orDash, type Table } from '../harness/table.js'
import { ratioOf, type Series, takeTurns, usual } from '../harness/turns.js'
import { whileHeld } from './held.js'
import { called, type Served, type Site, startedClient, startedSite, warmedUp } from './site.js'

/** Requests of one kind, size and number. */
interface Case {
  readonly keys: 'new' | 'replays' | 'conflicts'
  readonly callers: number
  readonly bodyBytes: number
}

const siteNames = ['bare', 'postgres', 'roomy', 'pglite', 'memory'] as const
const titles: Readonly<Record<string, string>> = {
  bare: 'bare Fastify',
  postgres: 'guarded, PostgreSQL',
  roomy: 'guarded, PostgreSQL, roomy',
  pglite: 'guarded, PGlite',
  memory: 'guarded, memory',
}
/** Requests that wait for a database outlive collections of garbage that come often, and are copied by each. */
const roomy = ['--max-semi-space-size=64']
/** The usual size. */
const usualBytes = 200
const allBytes = [usualBytes, 2_000, 20_000]
const usualCases: readonly Case[] = [
  { keys: 'new', callers: 1, bodyBytes: usualBytes },
  { keys: 'new', callers: 64, bodyBytes: usualBytes },
  { keys: 'new', callers: 256, bodyBytes: usualBytes },
  { keys: 'replays', callers: 64, bodyBytes: usualBytes },
  { keys: 'conflicts', callers: 64, bodyBytes: usualBytes },
]
const allCases: readonly Case[] = allBytes.flatMap((bodyBytes) =>
  (['new', 'replays', 'conflicts'] as const).flatMap((keys) =>
    [1, 64, 256].map((callers) => ({ keys, callers, bodyBytes })),
  ),
)

export const http: Bench = {
  name: 'http',
  measures: 'what the guard costs a route of Fastify, beside the same route without it',
  how: `One route of Fastify, bare and guarded by each store, asked by the same callers with the same requests from a process
of their own. New keys run the handler; replays ask for keys that were answered before, and must get the same bytes;
conflicts ask for keys whose first request is still in its handler, and get 409, where the bare route simply runs. An
answer is as large as its request.`,
  turns: { rounds: 5, seconds: 1 },
  all: 'bodies of 200 bytes, 2 KB and 20 KB, each kind of key with 1, 64 and 256 callers; a quarter of an hour',
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const postgres = await durablePostgres(later)
      await migratePostgres({ pool: postgres.pool })
      const cases = asked.extent === 'all' ? allCases : usualCases
      const measured = new Map<Case, Series<Served>>()
      for (const bodyBytes of allBytes) {
        const sized = cases.filter((one) => one.bodyBytes === bodyBytes)
        for (const [one, series] of await measuredCases(sized, postgres, asked)) measured.set(one, series)
      }
      return {
        ratios: ratiosOf(measured),
        tables: allBytes.flatMap((bodyBytes) => tableOf(measured, bodyBytes)),
        versions: { PostgreSQL: postgres.version },
        remarks: [
          'Application, callers and PostgreSQL share the machine. The bare route has no keys: it is asked all the same.',
          `Roomy: node runs with \`${roomy.join(' ')}\`, everything else is the same.`,
        ],
      }
    }),
}

/** Each size has servers of its own, so that what a memory store keeps stays bounded. */
function measuredCases(
  cases: readonly Case[],
  postgres: Postgres,
  asked: Asked,
): Promise<ReadonlyMap<Case, Series<Served>>> {
  return closing(async (later) => {
    const measured = new Map<Case, Series<Served>>()
    const [first] = cases
    if (first === undefined) return measured
    const client = startedClient(later)
    const sites = siteNames.map((name) => siteOf(name, { url: postgres.url, client, later }, postgres.cpuMs))
    for (const site of sites) await warmedUp(site, first.bodyBytes)
    for (const one of cases) {
      asked.say(labelOf(one))
      await postgres.pool.query('VACUUM ANALYZE hapax.records')
      const contestants = sites.map((site) => ({ name: site.name, turn: () => turnOf(site, one, asked.seconds) }))
      measured.set(one, await takeTurns(contestants, { ...asked, say: () => undefined }))
    }
    return measured
  })
}

function siteOf(name: (typeof siteNames)[number], around: Parameters<typeof startedSite>[1], cpuMs: ServerTime): Site {
  if (name === 'roomy') return { ...startedSite('postgres', { ...around, databaseMs: cpuMs, execArgv: roomy }), name }
  return startedSite(name, { ...around, ...(name === 'postgres' && { databaseMs: cpuMs }) })
}

function turnOf(site: Site, { keys, callers, bodyBytes }: Case, seconds: number): Promise<Served> {
  const load = { callers, bodyBytes, seconds, atLeast: 0 }
  const isGuarded = site.name !== 'bare'
  if (keys === 'new') return called(site, { ...load, keys, repeats: 'any' })
  if (keys === 'replays') return called(site, { ...load, keys: 'known', repeats: isGuarded ? 'same' : 'any' })
  const conflict = isGuarded ? { status: 409 } : {}
  // One for each caller: no two ask for the same at a time.
  return whileHeld(site, { count: callers, bodyBytes }, () =>
    called(site, { ...load, ...conflict, keys: 'held', repeats: 'any' }),
  )
}

function ratiosOf(measured: ReadonlyMap<Case, Series<Served>>): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...measured].flatMap(([one, series]) =>
      [...series.keys()]
        .filter((name) => name !== 'bare')
        .map((name) => [`${labelOf(one)} ${name} / bare`, ratioOf(series, [name, 'bare'], perSecond)]),
    ),
  )
}

function tableOf(measured: ReadonlyMap<Case, Series<Served>>, bodyBytes: number): readonly Table[] {
  const rows = [...measured]
    .filter(([one]) => one.bodyBytes === bodyBytes)
    .flatMap(([{ keys, callers }, series]) =>
      [...series.keys()].map((name): readonly Cell[] => [
        `${keys}, ${callers === 1 ? '1 caller' : `${callers} callers`}`,
        titles[name] ?? name,
        usual(series, name, perSecond),
        ratioOf(series, [name, 'bare'], perSecond),
        usual(series, name, ({ p50Ms }) => p50Ms),
        usual(series, name, ({ p99Ms }) => p99Ms),
        usual(series, name, ({ serverUs }) => serverUs),
        orDash(usual(series, name, ({ databaseUs }) => databaseUs)),
        `${usual(series, name, ({ clientShare }) => Math.round(100 * clientShare))} %`,
      ]),
    )
  if (rows.length === 0) return []
  return [
    {
      title: `Bodies of ${sizeOf(bodyBytes)}`,
      columns: [
        'keys',
        'route',
        'per second',
        'of bare',
        'p50 ms',
        'p99 ms',
        'application µs each',
        'PostgreSQL µs each',
        'callers used',
      ],
      rows,
      chart: {
        name: `http-${bodyBytes}`,
        group: 'keys',
        series: 'route',
        value: 'per second',
        others: ['bare Fastify'],
      },
    },
  ]
}

const perSecond = (served: Served) => served.perSecond

/** The usual size goes without saying. */
function labelOf({ keys, callers, bodyBytes }: Case): string {
  return `${keys}@${callers}${bodyBytes === usualBytes ? '' : ` ${sizeOf(bodyBytes)}`}`
}

function sizeOf(bytes: number): string {
  return bytes < 1_000 ? `${bytes} B` : `${bytes / 1_000} KB`
}
