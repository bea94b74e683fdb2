import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Asked, Bench, Measured } from '../harness/bench.js'
import { closing } from '../harness/closing.js'
import { durablePostgres } from '../harness/postgres.js'
import { ratioOf, type Series, takeTurns, usual } from '../harness/turns.js'
import { called, type Served, type Site, startedClient, startedSite, warmedUp } from '../http/site.js'

const bodyBytes = 200
const watchers = ['nobody', 'metrics', 'OpenTelemetry metrics', 'OpenTelemetry'] as const
const titles: Readonly<Record<string, string>> = {
  nobody: 'nobody',
  metrics: 'metrics and a log',
  'OpenTelemetry metrics': 'OpenTelemetry, no spans',
  OpenTelemetry: 'OpenTelemetry, every span',
}
const cases = {
  'new@256': { keys: 'new', callers: 256, repeats: 'any' },
  'replays@64': { keys: 'known', callers: 64, repeats: 'same' },
} as const

export const telemetry: Bench = {
  name: 'telemetry',
  measures: 'what it costs to watch: a guarded route with telemetry, beside the same without',
  how: `One route of Fastify, guarded on PostgreSQL, again and again: watched by nobody; with metrics, which are scraped once a
second, and a log from the level info on; with the SDK of OpenTelemetry, which collects the metrics once a second; and with
the same and a span of every request. The aims are about metrics and a log: to make every span costs more, which is shown and
has no aim, since a sampler decides how many are made. The same callers ask each, from a process of their own. Three more or
less per cent are nothing on a shared machine, so that neighbours are compared in many short turns.`,
  needs: ['PostgreSQL'],
  turns: { rounds: 15, seconds: 1 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const postgres = await durablePostgres(later)
      await migratePostgres({ pool: postgres.pool })
      const client = startedClient(later)
      const sites = watchers.map((watcher): Site => {
        const site = startedSite('postgres', { url: postgres.url, client, later, watcher })
        return { ...site, name: watcher }
      })
      for (const site of sites) await warmedUp(site, bodyBytes)
      const measured = new Map<string, Series<Served>>()
      for (const [name, wanted] of Object.entries(cases)) {
        asked.say(name)
        await postgres.pool.query('VACUUM ANALYZE hapax.records')
        measured.set(name, await turnsOf(sites, wanted, asked))
      }
      return { ...told(measured), versions: { PostgreSQL: postgres.version } }
    }),
}

function turnsOf(
  sites: readonly Site[],
  wanted: (typeof cases)[keyof typeof cases],
  { rounds, seconds }: Asked,
): Promise<Series<Served>> {
  const turn = (site: Site) => () => called(site, { ...wanted, bodyBytes, seconds, atLeast: 0 })
  return takeTurns(
    sites.map((site) => ({ name: site.name, turn: turn(site) })),
    { rounds, say: () => undefined },
  )
}

function told(measured: ReadonlyMap<string, Series<Served>>): Omit<Measured, 'versions'> {
  const perSecond = (served: Served) => served.perSecond
  const serverUs = (served: Served) => served.serverUs
  const others = watchers.filter((watcher) => watcher !== 'nobody')
  return {
    ratios: Object.fromEntries(
      [...measured].flatMap(([name, series]) =>
        others.flatMap((watcher) => [
          [`${name} ${watcher} / nobody`, ratioOf(series, [watcher, 'nobody'], perSecond)],
          [`${name} ${watcher} / nobody, server`, ratioOf(series, [watcher, 'nobody'], serverUs)],
        ]),
      ),
    ),
    tables: [
      {
        title: 'Watched by',
        columns: ['keys', 'watched by', 'per second', 'of nobody', 'application µs each', 'times nobody'],
        rows: [...measured].flatMap(([name, series]) =>
          watchers.map((watcher) => [
            name,
            titles[watcher] ?? watcher,
            usual(series, watcher, perSecond),
            ratioOf(series, [watcher, 'nobody'], perSecond),
            usual(series, watcher, serverUs),
            ratioOf(series, [watcher, 'nobody'], serverUs),
          ]),
        ),
        chart: { name: 'telemetry', group: 'keys', series: 'watched by', value: 'per second', others: ['nobody'] },
      },
    ],
    remarks: ['The spans are handed over to nobody: what a collector takes is its own affair.'],
  }
}
