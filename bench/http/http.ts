import { replayCacheBounds } from '../../dist/kernel/limits.js'
import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Asked, Bench, Measured } from '../harness/bench.js'
import { closing } from '../harness/closing.js'
import { durablePostgres, type Postgres } from '../harness/postgres.js'
import type { Table } from '../harness/table.js'
import { type Series, takeTurns } from '../harness/turns.js'
import { type Case, casesOf, labelOf, type SiteName, sitesOf, sizes, turnsOf } from './cases.js'
import { whileHeld } from './held.js'
import { knownKeys } from './known-keys.mjs'
import { type MeasuredCases, ratiosOf, tableOf } from './outcome.js'
import { called, type Served, type Site, startedClient, startedSite, warmedUp } from './site.js'

export const http: Bench = {
  name: 'http',
  measures: 'what the guard costs a route of Fastify, beside the same route without it',
  how: `One route of Fastify, bare and guarded by each store, asked by the same callers with the same requests from a process
of their own. New keys run the handler; replays ask for keys that were answered before, and must get the same bytes;
conflicts ask for keys whose first request is still in its handler, and get 409, where the bare route simply runs. An
answer is as large as its request. Each kind of key comes from 1, 64 and 256 callers with bodies of 200 bytes, 2 KB and 20 KB;
what an aim is about has all of its turns, the others half of them, half as long.`,
  needs: ['PostgreSQL'],
  turns: { rounds: 5, seconds: 1 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const postgres = await durablePostgres(later)
      await migratePostgres({ pool: postgres.pool })
      const tables: Table[] = []
      const ratios: Record<string, number> = {}
      for (const bodyBytes of sizes) {
        const measured = await measuredCases(casesOf(bodyBytes), postgres, asked)
        tables.push(tableOf(measured, bodyBytes))
        Object.assign(ratios, ratiosOf(measured))
      }
      return {
        ratios,
        tables,
        versions: { PostgreSQL: postgres.version },
        remarks: [
          'Application, callers and PostgreSQL share the machine. The bare route has no keys: it is asked all the same.',
          "Everything else on PostgreSQL has `connection: 'direct'`. Statements unnamed: `connection: 'pooler'`, the default, which also does with a pooler in transaction mode in between; here there is none.",
          "No replay cache: `replayCache: 'off'`, so that each replay asks PostgreSQL.",
          `The replay cache holds ${replayCacheBounds.bytes >> 20} MB, and ${knownKeys.toLocaleString('en')} keys are asked for in turn: their answers of 20 KB do not fit, so that most of those replays ask the store, too.`,
        ],
      }
    }),
}

/** Each size has servers of its own, so that what a memory store keeps stays bounded. */
function measuredCases(cases: readonly Case[], postgres: Postgres, asked: Asked): Promise<MeasuredCases> {
  return closing(async (later) => {
    const measured = new Map<Case, Series<Served>>()
    const client = startedClient(later)
    const around = { url: postgres.url, client, later }
    const sites = new Map<SiteName, Site>()
    for (const one of cases) {
      for (const name of sitesOf(one).filter((name) => !sites.has(name))) {
        const databaseMs = isOnPostgres(name) ? { databaseMs: postgres.cpuMs } : {}
        const site = startedSite(name, { ...around, ...databaseMs })
        await warmedUp(site, one.bodyBytes)
        sites.set(name, site)
      }
      asked.say(labelOf(one))
      await postgres.pool.query('VACUUM ANALYZE hapax.records')
      const turns = turnsOf(one, asked)
      const contestants = sitesOf(one).map((name) => {
        const site = sites.get(name) as Site
        return { name, turn: () => turnOf(site, one, turns.seconds) }
      })
      measured.set(one, await takeTurns(contestants, { ...turns, say: () => undefined }))
    }
    return measured
  })
}

function isOnPostgres(name: SiteName): boolean {
  return name === 'postgres' || name === 'pooler' || name === 'uncached'
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
