import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Bench, Measured } from '../harness/bench.js'
import { start } from '../harness/child.js'
import { closing } from '../harness/closing.js'
import type { Load } from '../harness/loops.mjs'
import { durablePostgres } from '../harness/postgres.js'
import { orDash } from '../harness/table.js'
import { ratioOf, takeTurns, usual } from '../harness/turns.js'
import type { Settings, Wanted } from './app.mjs'
import { tables } from './booking.mjs'

const concurrencies = [1, 8, 32] as const
const ways = { bare: 'the transaction alone', hapax: 'in one-transaction mode' } as const

/** What was reached, and what PostgreSQL took of the processor and wrote to its log for each. */
interface Booked extends Load {
  readonly databaseUs: number
  readonly walBytes: number
}

const columns: readonly (readonly [string, (taken: Booked) => number])[] = [
  ['per second', ({ perSecond }) => perSecond],
  ['p50 ms', ({ p50Ms }) => p50Ms ?? Number.NaN],
  ['p99 ms', ({ p99Ms }) => p99Ms ?? Number.NaN],
  ['process µs each', ({ cpuUs }) => cpuUs ?? Number.NaN],
  ['PostgreSQL µs each', ({ databaseUs }) => databaseUs],
  ['WAL bytes each', ({ walBytes }) => walBytes],
]

export const transaction: Bench = {
  name: 'transaction',
  measures: 'what one-transaction mode adds to a business transaction',
  how: `A payment is written down, its account is charged and the ledger gets a line, in one transaction of three statements
between BEGIN and COMMIT; once alone, and once under \`mode: 'transaction'\` with a key, a fingerprint and the answer on record.
Both use the same pool of connections, and statements that are prepared. What PostgreSQL
takes is the processor time of all its processes, and what it writes to the log that is flushed.`,
  needs: ['PostgreSQL'],
  turns: { rounds: 7, seconds: 2 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { url, version, pool, cpuMs } = await durablePostgres(later)
      await migratePostgres({ pool })
      await pool.query(tables)
      const settings: Settings = { url, connections: 32 }
      const app = start(new URL('app.mjs', import.meta.url), { settings, later })
      const logged = async () =>
        Number((await pool.query(`SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes`)).rows[0].bytes)
      const watched = (turn: () => Promise<Load>) => async (): Promise<Booked> => {
        const [before, takenMs] = [await logged(), cpuMs()]
        const load = await turn()
        const served = load.perSecond * asked.seconds
        return {
          ...load,
          databaseUs: (takenMs() * 1_000) / served,
          walBytes: ((await logged()) - before) / served,
        }
      }
      const names = Object.keys(ways) as (keyof typeof ways)[]
      const contestants = concurrencies.flatMap((concurrency) =>
        names.map((way) => ({
          name: `${way}@${concurrency}`,
          turn: watched(() => app.ask<Load>({ way, concurrency, seconds: asked.seconds } satisfies Wanted)),
        })),
      )
      const series = await takeTurns(contestants, { ...asked, between: () => pool.query('VACUUM ANALYZE') })
      const ratio = (concurrency: number) =>
        ratioOf(series, [`hapax@${concurrency}`, `bare@${concurrency}`], ({ perSecond }) => perSecond)
      return {
        ratios: Object.fromEntries(concurrencies.map((n) => [`hapax@${n} / bare@${n}`, ratio(n)])),
        tables: [
          {
            title: 'Payments booked',
            columns: ['callers', 'how', ...columns.map(([title]) => title)],
            rows: concurrencies.flatMap((concurrency) =>
              names.map((way) => [
                String(concurrency),
                ways[way],
                ...columns.map(([, of]) => orDash(usual(series, `${way}@${concurrency}`, of))),
              ]),
            ),
            chart: { name: 'transaction', group: 'callers', series: 'how', value: 'per second', others: [ways.bare] },
          },
        ],
        versions: { PostgreSQL: version },
        remarks: ['32 connections in the pool.'],
      }
    }),
}
