/** What became of the turns of the bench `store`. */
import type { Load } from '../harness/loops.mjs'
import { type Cell, orDash, type Table } from '../harness/table.js'
import { ratioOf, type Series, usual } from '../harness/turns.js'

/** What was reached, and what PostgreSQL took of the processor for each pair: NaN where it is not asked. */
export interface Pairs extends Load {
  readonly databaseUs: number
}

const perSecond = (load: Load) => load.perSecond

/** Those of whom one could not take part are left out. */
export function ratiosOf(series: Series<Load>): Readonly<Record<string, number>> {
  const between = (pair: readonly [string, string], of: (load: Load) => number, prefix = ''): [string, number][] =>
    pair.every((name) => series.has(name)) ? [[`${prefix}${pair[0]} / ${pair[1]}`, ratioOf(series, pair, of)]] : []
  return Object.fromEntries([
    ...between(['pairs@1', 'pgbench@1'], perSecond),
    ...between(['pairs@8', 'pgbench@8'], perSecond),
    ...between(['pairs@32', 'pgbench@32'], perSecond),
    ...between(['pairs@256', 'pgbench@32'], perSecond),
    ...between(['pairs@1000', 'pgbench@32'], perSecond),
    ...between(['pairs@1', 'unbatched@1'], (load) => load.p50Ms ?? Number.NaN, 'p50 '),
    ...between(['pairs@256', 'unbatched@256'], perSecond),
    ...between(['pairs@1', 'redis@1'], perSecond),
    ...between(['pairs@256', 'redis@256'], perSecond),
  ])
}

const titles = {
  pairs: 'Hapax',
  unbatched: 'Hapax, group commit off',
  pgbench: 'pgbench, one by one',
  redis: 'Redis, never flushed',
  replays: 'Hapax, replays',
} as const

const others = [titles.pgbench, titles.redis]

export function closedTable(series: Series<Pairs>): Table {
  const named = [...series.keys()].map((name) => [name, ...name.split('@')] as const)
  return {
    title: 'As fast as they are answered',
    columns: ['callers', 'who', 'pairs per second', 'p50 ms', 'p99 ms', 'process µs each', 'PostgreSQL µs each'],
    rows: named
      .toSorted(([, , a], [, , b]) => Number(a) - Number(b))
      .map(([name, who = '', callers]) => [
        String(callers),
        titleOf(who),
        usual(series, name, perSecond),
        known(series, name, ({ p50Ms }) => p50Ms),
        known(series, name, ({ p99Ms }) => p99Ms),
        known(series, name, ({ cpuUs }) => cpuUs),
        orDash(usual(series, name, ({ databaseUs }) => databaseUs)),
      ]),
    chart: { name: 'store-pairs', group: 'callers', series: 'who', value: 'pairs per second', others },
  }
}

export function openTable(paced: Series<Load>): Table {
  const named = [...paced.keys()].map((name) => [name, ...name.split(' ')] as const)
  return {
    title: 'At fixed rates',
    columns: ['pairs per second due', 'who', 'served', 'p50 ms', 'p99 ms', 'p99.9 ms', 'not served'],
    rows: named
      .toSorted(([, , a], [, , b]) => Number(a) - Number(b))
      .map(([name, who = '', rate]) => [
        Number(rate).toLocaleString('en'),
        titleOf(who),
        usual(paced, name, perSecond),
        known(paced, name, ({ p50Ms }) => p50Ms),
        known(paced, name, ({ p99Ms }) => p99Ms),
        known(paced, name, ({ p999Ms }) => p999Ms),
        usual(paced, name, ({ unserved }) => unserved),
      ]),
    chart: { name: 'store-rates', group: 'pairs per second due', series: 'who', value: 'p99 ms', others },
  }
}

function titleOf(who: string): string {
  return titles[who as keyof typeof titles]
}

/** Nobody can say where the one in this place was never served, or the tool does not tell. */
function known(series: Series<Load>, name: string, of: (load: Load) => number | null): Cell {
  return orDash(usual(series, name, (load) => of(load) ?? Number.POSITIVE_INFINITY))
}
