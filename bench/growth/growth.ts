import { migratePostgres } from '../../dist/stores/postgres/index.js'
import type { Bench, Measured } from '../harness/bench.js'
import { type Child, start } from '../harness/child.js'
import { closing } from '../harness/closing.js'
import { fill } from '../harness/filled.js'
import type { Load } from '../harness/loops.mjs'
import { durablePostgres } from '../harness/postgres.js'
import type { Cell } from '../harness/table.js'
import { type Contestant, ratioOf, takeTurns, usual } from '../harness/turns.js'
import type { Settings, Wanted } from '../store/app.mjs'

const callers = 256
const sizes = [
  { name: 'empty', schema: 'hapax', count: 0 },
  { name: '1 million', schema: 'hapax_1', count: 1_000_000 },
  { name: '5 million', schema: 'hapax_5', count: 5_000_000 },
] as const
const nodes = [1, 2, 4] as const

export const growth: Bench = {
  name: 'growth',
  measures: 'what records that are there already cost, and what several nodes on one PostgreSQL reach',
  how: `Pairs of a reservation and its completion with ${callers} callers: on a table that was empty, on one with a million records and
on one with five million, which take turns on one server. Then by one, two and four processes, each with ${callers} callers,
on one table; what they reach is added up.`,
  needs: ['PostgreSQL'],
  turns: { rounds: 5, seconds: 2 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { url, version, pool } = await durablePostgres(later)
      for (const { name, schema, count } of sizes) {
        asked.say(`filling: ${name}`)
        await migratePostgres({ pool, schema })
        await fill(pool, { schema, count, age: 'kept' })
      }
      // What was written for the filling is not to be flushed during a turn.
      await pool.query('CHECKPOINT')
      const app = (schema: string): Child => {
        const settings: Settings = { url, schema, batching: 'on', connections: 16 }
        return start(new URL('../store/app.mjs', import.meta.url), { settings, later })
      }
      const wanted: Wanted = { kind: 'pairs', concurrency: callers, seconds: asked.seconds }
      const together = (apps: readonly Child[]) => async () => {
        const loads = await Promise.all(apps.map((one) => one.ask<Load>(wanted)))
        return loads.reduce((sum, { perSecond }) => sum + perSecond, 0)
      }
      const bySize = sizes.map(({ name, schema }): Contestant<number> => ({ name, turn: together([app(schema)]) }))
      const fleet = Array.from({ length: Math.max(...nodes) }, () => app('hapax'))
      const byNodes = nodes.map((count) => ({ name: nodesOf(count), turn: together(fleet.slice(0, count)) }))
      asked.say('by records')
      const sized = await takeTurns(bySize, asked)
      asked.say('by nodes')
      const shared = await takeTurns(byNodes, asked)
      const rowsOf = (series: typeof sized, first: string) =>
        [...series.keys()].map((name): readonly Cell[] => [
          name,
          usual(series, name, (perSecond) => perSecond),
          ratioOf(series, [name, first], (perSecond) => perSecond),
        ])
      const ratios = [
        ...rowsOf(sized, 'empty').map(([name, , ratio]) => [`${name} / empty`, ratio]),
        ...rowsOf(shared, nodesOf(1)).map(([name, , ratio]) => [`${name} / ${nodesOf(1)}`, ratio]),
      ]
      return {
        ratios: Object.fromEntries(
          ratios.filter(([name]) => !['empty / empty', '1 node / 1 node'].includes(String(name))),
        ),
        tables: [
          {
            title: 'By records that are there already',
            columns: ['records', 'pairs per second', 'of empty'],
            rows: rowsOf(sized, 'empty'),
            chart: { name: 'growth-records', group: 'records', value: 'pairs per second', others: [] },
          },
          {
            title: 'By nodes',
            columns: ['nodes', 'pairs per second', 'of one'],
            rows: rowsOf(shared, nodesOf(1)),
            chart: { name: 'growth-nodes', group: 'nodes', value: 'pairs per second', others: [] },
          },
        ],
        versions: { PostgreSQL: version },
        remarks: ['Nodes and PostgreSQL share the cores of one machine.'],
      }
    }),
}

function nodesOf(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`
}
