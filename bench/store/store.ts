import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Bench, Measured } from '../harness/bench.js'
import { type Child, start } from '../harness/child.js'
import { closing } from '../harness/closing.js'
import { invited } from '../harness/invited.js'
import type { Load } from '../harness/loops.mjs'
import { durablePostgres } from '../harness/postgres.js'
import { type Contestant, takeTurns } from '../harness/turns.js'
import type { Settings, Wanted } from './app.mjs'
import { closedTable, openTable, type Pairs, ratiosOf } from './outcome.js'
import { pgbenchOn } from './pgbench.js'
import { redisPairs } from './redis-pairs.js'

/** As many as pgbench has at most; more only make the server's processes wait for each other. */
const connections = 32
/** Pairs per second. An unbatched pool that cannot keep up does not do so at twice the rate. */
const rates = { pairs: [1_000, 5_000, 10_000, 20_000], unbatched: [1_000, 5_000] } as const

/** Who is compared with whom stands beside him: two neighbours in a round find the machine much the same. */
const order = [
  ...['redis@1', 'pgbench@1', 'pairs@1', 'unbatched@1', 'pgbench@8', 'pairs@8', 'pairs@32'],
  ...['pgbench@32', 'pairs@256', 'redis@256', 'unbatched@256', 'pairs@1000', 'replays@256'],
]

function sideBySide(contestants: readonly Contestant<Pairs>[]): readonly Contestant<Pairs>[] {
  return contestants.toSorted((one, other) => order.indexOf(one.name) - order.indexOf(other.name))
}

export const store: Bench = {
  name: 'store',
  measures: 'what a durable answer costs on PostgreSQL, beside pgbench, an unbatched pool and Redis',
  how: `Pairs of a reservation and its completion through the store, as an application uses it, with group commit.
Beside it pgbench runs the same two statements one by one, prepared; the same store runs with group commit off; and a Redis
that never flushes keeps \`SET NX\` and \`SET\` of a value of the same size. Then pairs at fixed rates, whether those before
were answered or not: there a time counts from when a pair was due, which includes up to a millisecond of the sender's own.`,
  needs: ['PostgreSQL', 'Redis', 'peers'],
  turns: { rounds: 5, seconds: 1 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { url, version, pool, cpuMs } = await durablePostgres(later)
      await migratePostgres({ pool })
      const app = (batching: Settings['batching']): Child => {
        const settings: Settings = { url, schema: 'hapax', batching, connections }
        return start(new URL('app.mjs', import.meta.url), { settings, later })
      }
      const apps = { pairs: app('on'), unbatched: app('off') }
      const pgbench = await invited('pgbench', pgbenchOn(url, later))
      const redis = await invited('Redis', redisPairs(later))
      const { seconds } = asked
      const ask = (child: Child, wanted: Wanted) => () => child.ask<Load>(wanted)
      /** What PostgreSQL takes meanwhile. */
      const watched = (turn: () => Promise<Load>) => async (): Promise<Pairs> => {
        const takenMs = cpuMs()
        const load = await turn()
        return { ...load, databaseUs: (takenMs() * 1_000) / (load.perSecond * seconds) }
      }
      /** Redis has no PostgreSQL, and the processes that pgbench has there are gone with it. */
      const unwatched = (turn: () => Promise<Load>) => async (): Promise<Pairs> => ({
        ...(await turn()),
        databaseUs: Number.NaN,
      })
      const pairs = (name: keyof typeof apps, concurrency: number): Contestant<Pairs> => ({
        name: `${name}@${concurrency}`,
        turn: watched(ask(apps[name], { kind: 'pairs', concurrency, seconds })),
      })
      const closed: readonly Contestant<Pairs>[] = [
        ...[1, 8, 32, 256, 1_000].map((concurrency) => pairs('pairs', concurrency)),
        ...[1, 256].map((concurrency) => pairs('unbatched', concurrency)),
        ...pgbench.guests.flatMap((tool) =>
          [1, 8, 32].map((clients) => ({
            name: `pgbench@${clients}`,
            turn: unwatched(() => tool.pairs(clients, seconds)),
          })),
        ),
        ...redis.guests.flatMap((server) =>
          [1, 256].map((callers) => ({
            name: `redis@${callers}`,
            turn: unwatched(() => server.pairs(callers, seconds)),
          })),
        ),
        { name: 'replays@256', turn: watched(ask(apps.pairs, { kind: 'replays', concurrency: 256, seconds })) },
      ]
      const open = (['pairs', 'unbatched'] as const).flatMap((name) =>
        rates[name].map((rate) => ({
          name: `${name} ${rate}`,
          turn: ask(apps[name], { kind: 'pairs at a rate', rate, seconds }),
        })),
      )
      const between = () => pool.query('VACUUM ANALYZE hapax.records')
      const series = await takeTurns(sideBySide(closed), { ...asked, between })
      const paced = await takeTurns(open, { ...asked, between })
      return {
        ratios: ratiosOf(series),
        tables: [closedTable(series), openTable(paced)],
        versions: Object.assign(
          { PostgreSQL: version },
          ...[...pgbench.guests, ...redis.guests].map((one) => one.versions),
        ),
        remarks: [
          `PostgreSQL flushes before it acknowledges; ${connections} connections in each pool.`,
          'pgbench has a connection for each of its clients, and the server has room for 200: so there is none of 256 or 1,000.',
          ...pgbench.remarks,
          ...redis.remarks,
        ],
      }
    }),
}
