import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Bench, Measured } from '../harness/bench.js'
import { closing } from '../harness/closing.js'
import { durablePostgres } from '../harness/postgres.js'
import { rounded } from '../harness/table.js'
import { takeTurns, usual } from '../harness/turns.js'
import { whileHeld } from '../http/held.js'
import { type Site, startedClient, startedSite, usage, warmedUp } from '../http/site.js'

const count = 2_000
const bodyBytes = 200
const sites = { bare: 'bare Fastify', postgres: 'guarded, PostgreSQL', memory: 'guarded, memory' } as const

export const memory: Bench = {
  name: 'memory',
  measures: 'what a request in flight takes of memory, beyond its body and its answer',
  how: `${count.toLocaleString('en')} requests of ${bodyBytes} bytes, each on a connection of its own, stay in their handler. Heap and buffers after a
collection, less what there was before they came, for each of them; then less the same on a bare route, and less the body,
whose bytes the guard keeps to compare them. Nobody has an answer yet.`,
  needs: ['PostgreSQL'],
  turns: { rounds: 5, seconds: 1 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { url, version, pool } = await durablePostgres(later)
      await migratePostgres({ pool })
      const client = startedClient(later)
      const names = Object.keys(sites) as (keyof typeof sites)[]
      const started = names.map((name) => startedSite(name, { url, client, later, execArgv: ['--expose-gc'] }))
      for (const site of started) await warmedUp(site, bodyBytes)
      const series = await takeTurns(
        started.map((site) => ({ name: site.name, turn: () => bytesEach(site) })),
        asked,
      )
      const each = (name: string) => usual(series, name, (bytes) => bytes)
      const beyond = (name: string) => each(name) - each('bare') - bodyBytes
      return {
        ratios: { 'postgres KB': rounded(beyond('postgres') / 1_024), 'memory KB': rounded(beyond('memory') / 1_024) },
        tables: [
          {
            title: 'Bytes for each request in flight',
            columns: ['route', 'bytes', 'beyond bare and body'],
            rows: names.map((name) => [sites[name], each(name), name === 'bare' ? '' : beyond(name)]),
            chart: { name: 'memory', group: 'route', value: 'bytes', others: [sites.bare] },
          },
        ],
        versions: { PostgreSQL: version },
        remarks: ['A memory store keeps the record itself in the same memory.'],
      }
    }),
}

async function bytesEach(site: Site): Promise<number> {
  const { bytes: before } = await usage(site, 'memory')
  const { bytes } = await whileHeld(site, { count, bodyBytes }, () => usage(site, 'memory'))
  return (bytes - before) / count
}
