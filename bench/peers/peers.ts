import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Bench, Measured } from '../harness/bench.js'
import { closing } from '../harness/closing.js'
import { invited } from '../harness/invited.js'
import { durablePostgres } from '../harness/postgres.js'
import { redisVersion } from '../harness/redis.js'
import { orDash, type Table } from '../harness/table.js'
import { ratioOf, type Series, takeTurns, usual } from '../harness/turns.js'
import { versionOf } from '../harness/version.js'
import { called, type Served, type Site, startedClient, warmedUp } from '../http/site.js'
import { guests, hapax, onRedis } from './guests.js'
import { installedPrograms } from './installed.js'

const bodyBytes = 200

export const peers: Bench = {
  name: 'peers',
  measures: 'the same handler under other libraries for idempotency, and under durable execution',
  how: `The same handler behind HTTP: guarded by Hapax on PostgreSQL, and by each of the others as its own documentation says.
Those that have no framework of their own are on Fastify, as Hapax is. Everybody compares the body of a request with that of
its key, where he can. Bodies of ${bodyBytes} bytes; new keys with 256 callers, known ones with 64.`,
  needs: ['PostgreSQL', 'Redis', 'peers'],
  turns: { rounds: 5, seconds: 1 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { url, version, pool, cpuMs } = await durablePostgres(later)
      await migratePostgres({ pool })
      const around = { url, programs: await installedPrograms(), client: startedClient(later), later }
      const sites: Site[] = []
      const remarks: string[] = []
      for (const guest of guests) {
        asked.say(`starting ${guest.name}`)
        const came = await invited(guest.name, warm(guest.start(around)))
        const databaseMs = guest.keeps.startsWith('PostgreSQL') ? cpuMs : undefined
        sites.push(...came.guests.map((site) => ({ ...site, databaseMs })))
        remarks.push(...came.remarks)
      }
      const take = async (keys: 'new' | 'known', callers: number) => {
        asked.say(`${keys} keys, ${callers} callers`)
        const load = { keys, callers, bodyBytes, seconds: asked.seconds, atLeast: 0, repeats: repeatsOf(keys) }
        return takeTurns(
          sites.map((site) => ({ name: site.name, turn: () => called(site, load) })),
          asked,
        )
      }
      const fresh = await take('new', 256)
      const known = await take('known', 64)
      return {
        ratios: ratiosOf(fresh),
        tables: [
          tableOf('New keys, 256 callers', 'peers-new', fresh),
          tableOf('Replays, 64 callers', 'peers-replays', known),
        ],
        versions: await versionsOf(sites, around.programs, version),
        remarks: [
          ...remarks,
          'Hapax keeps answers in its process for five seconds, too: most of its replays ask no database. Others that could do so are as they come.',
        ],
      }
    }),
}

async function warm(starting: Promise<Site>): Promise<Site> {
  const site = await starting
  await warmedUp(site, bodyBytes)
  return site
}

/** Whoever promises that a retry gets the same answer is held to it. */
function repeatsOf(keys: 'new' | 'known'): 'any' | 'same' {
  return keys === 'new' ? 'any' : 'same'
}

function ratiosOf(series: Series<Served>): Readonly<Record<string, number>> {
  const against = (name: string) => ratioOf(series, [hapax, name], perSecond)
  const others = [...series.keys()].filter((name) => name !== hapax)
  const [fastest] = onRedis
    .filter((name) => series.has(name))
    .toSorted((a, b) => usual(series, b, perSecond) - usual(series, a, perSecond))
  return {
    ...Object.fromEntries(others.map((name) => [`hapax / ${name}`, against(name)])),
    ...(fastest === undefined ? {} : { 'hapax / fastest on Redis': against(fastest) }),
  }
}

function tableOf(title: string, chart: string, series: Series<Served>): Table {
  const present = guests.filter(({ name }) => series.has(name))
  return {
    title,
    columns: [
      ...['who', 'an answer is kept in', 'per second', 'Hapax against it', 'p50 ms', 'p99 ms'],
      ...['application µs each', 'PostgreSQL µs each'],
    ],
    rows: present.map(({ name, keeps }) => [
      name,
      keeps,
      usual(series, name, perSecond),
      ratioOf(series, [hapax, name], perSecond),
      usual(series, name, ({ p50Ms }) => p50Ms),
      usual(series, name, ({ p99Ms }) => p99Ms),
      usual(series, name, ({ serverUs }) => serverUs),
      orDash(usual(series, name, ({ databaseUs }) => databaseUs)),
    ]),
    chart: { name: chart, group: 'who', value: 'per second', others: guests.slice(1).map(({ name }) => name) },
  }
}

const perSecond = (served: Served) => served.perSecond

async function versionsOf(
  sites: readonly Site[],
  programs: URL,
  postgres: string,
): Promise<Readonly<Record<string, string>>> {
  const present = guests.filter(({ name }) => sites.some((site) => site.name === name))
  const packages = present.flatMap((guest) => guest.packages)
  const isRedisHere = present.some(({ name }) => onRedis.some((one) => one === name))
  return {
    PostgreSQL: postgres,
    ...(isRedisHere && { Redis: await redisVersion() }),
    ...Object.fromEntries(packages.map((name) => [name, versionOf(name, programs)])),
  }
}
