/** What became of the turns of the bench `http`. */
import { type Cell, orDash, type Table } from '../harness/table.js'
import { ratioOf, type Series, usual } from '../harness/turns.js'
import { type Case, labelOf, type SiteName, sizeOf } from './cases.js'
import type { Served } from './site.js'

export type MeasuredCases = ReadonlyMap<Case, Series<Served>>

const titles: Readonly<Record<SiteName, string>> = {
  bare: 'bare Fastify',
  postgres: 'guarded, PostgreSQL',
  pooler: 'guarded, PostgreSQL, statements unnamed',
  uncached: 'guarded, PostgreSQL, no replay cache',
  pglite: 'guarded, PGlite',
  memory: 'guarded, memory',
}

const perSecond = (served: Served) => served.perSecond

export function ratiosOf(measured: MeasuredCases): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...measured].flatMap(([one, series]) =>
      [...series.keys()]
        .filter((name) => name !== 'bare')
        .map((name) => [`${labelOf(one)} ${name} / bare`, ratioOf(series, [name, 'bare'], perSecond)]),
    ),
  )
}

export function tableOf(measured: MeasuredCases, bodyBytes: number): Table {
  const rows = [...measured].flatMap(([{ keys, callers }, series]) =>
    [...series.keys()].map((name): readonly Cell[] => [
      `${keys}, ${callers === 1 ? '1 caller' : `${callers} callers`}`,
      titles[name as SiteName],
      usual(series, name, perSecond),
      ratioOf(series, [name, 'bare'], perSecond),
      usual(series, name, ({ p50Ms }) => p50Ms),
      usual(series, name, ({ p99Ms }) => p99Ms),
      usual(series, name, ({ serverUs }) => serverUs),
      orDash(usual(series, name, ({ databaseUs }) => databaseUs)),
      `${usual(series, name, ({ clientShare }) => Math.round(100 * clientShare))} %`,
    ]),
  )
  return {
    title: `Bodies of ${sizeOf(bodyBytes)}`,
    columns: [
      ...['keys', 'route', 'per second', 'of bare', 'p50 ms', 'p99 ms'],
      ...['application µs each', 'PostgreSQL µs each', 'callers used'],
    ],
    rows,
    chart: { name: `http-${bodyBytes}`, group: 'keys', series: 'route', value: 'per second', others: [titles.bare] },
  }
}
