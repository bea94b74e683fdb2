/** `npm run bench -- report`: shows in docs what is on record, and nothing else. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/root.mjs'
import { benches } from '../benches.js'
import { onRecord } from '../harness/results.js'
import { drawn } from './chart.js'
import { type Results, withFigures } from './page.js'

/** Where a file belongs, and what is to be in it. */
export type Files = ReadonlyMap<string, string>

const page = 'docs/PERFORMANCE.md'
const charts = 'docs/performance'

/** What was written. */
export function report(): readonly string[] {
  const files = filesOf(lastResults())
  mkdirSync(join(root, charts), { recursive: true })
  for (const file of strayCharts(files)) rmSync(join(root, file))
  for (const [file, content] of files) writeFileSync(join(root, file), content)
  return [...files.keys()]
}

export function lastResults(): Results {
  return new Map(
    benches.flatMap(({ name }) => {
      const last = onRecord(name).at(-1)
      return last === undefined ? [] : [[name, last]]
    }),
  )
}

export function filesOf(results: Results): Files {
  const tables = [...results.values()].flatMap((result) => result.tables)
  return new Map([
    [page, withFigures(readFileSync(join(root, page), 'utf8'), results)],
    ...tables.flatMap((table): readonly [string, string][] =>
      table.chart === undefined ? [] : [[`${charts}/${table.chart.name}.svg`, drawn(table)]],
    ),
  ])
}

/** Of results that are no longer the last ones. */
export function strayCharts(files: Files): readonly string[] {
  const folder = join(root, charts)
  return (existsSync(folder) ? readdirSync(folder) : [])
    .map((name) => `${charts}/${name}`)
    .filter((file) => file.endsWith('.svg') && !files.has(file))
}
