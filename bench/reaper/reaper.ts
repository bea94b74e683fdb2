import { workerBounds } from '../../dist/kernel/limits.js'
import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Bench, Measured } from '../harness/bench.js'
import { start } from '../harness/child.js'
import { closing } from '../harness/closing.js'
import { fill } from '../harness/filled.js'
import { durablePostgres } from '../harness/postgres.js'
import { ratioOf, takeTurns, usual } from '../harness/turns.js'
import type { Served, Settings, Wanted } from './app.mjs'

const expired = 1_000_000
/** Moderate: the machine is busy, and not full. */
const callers = 12
const ways = { off: 'without the reaper', on: 'with the reaper' } as const

export const reaper: Bench = {
  name: 'reaper',
  measures: 'what the reaper costs whoever is served meanwhile',
  how: `Pairs of a reservation and its completion by ${callers} callers, with and without a reaper that works through a million records past
their retention, as its defaults say: batches of ${workerBounds.reapBatch}, ${workerBounds.reapPauseMs} ms between them. Half of them become tombstones, half of
them are tombstones that are deleted.`,
  needs: ['PostgreSQL'],
  turns: { rounds: 7, seconds: 4 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { url, version, pool } = await durablePostgres(later)
      await migratePostgres({ pool })
      asked.say('filling')
      await fill(pool, { schema: 'hapax', count: expired, age: 'past retention' })
      const settings: Settings = { url, callers }
      const app = start(new URL('app.mjs', import.meta.url), { settings, later })
      const names = Object.keys(ways) as (keyof typeof ways)[]
      const series = await takeTurns(
        names.map((name) => ({
          name,
          turn: () => app.ask<Served>({ reaper: name, seconds: asked.seconds } satisfies Wanted),
        })),
        asked,
      )
      const taken = series.get('on') ?? []
      const reaped = taken.reduce((sum, served) => sum + served.reaped, 0)
      // Nothing would be measured once it has nothing left to do.
      if (taken.some((served) => served.reaped === 0))
        throw new Error('The reaper had nothing to do in one of its turns.')
      return {
        ratios: {
          'p99 of reservations': ratioOf(series, ['on', 'off'], ({ reserveP99Ms }) => reserveP99Ms),
          'pairs per second': ratioOf(series, ['on', 'off'], ({ perSecond }) => perSecond),
        },
        tables: [
          {
            title: `With ${callers} callers`,
            columns: ['served', 'pairs per second', 'p99 ms of reservations', 'reaped per second'],
            rows: names.map((name) => [
              ways[name],
              usual(series, name, ({ perSecond }) => perSecond),
              usual(series, name, ({ reserveP99Ms }) => reserveP99Ms),
              usual(series, name, (served) => served.reaped / asked.seconds),
            ]),
            chart: { name: 'reaper', group: 'served', value: 'p99 ms of reservations', others: [] },
          },
        ],
        versions: { PostgreSQL: version },
        remarks: [`${reaped.toLocaleString('en')} of ${expired.toLocaleString('en')} records were buried or deleted.`],
      }
    }),
}
