import { aims, judged } from '../aims.js'
import { benches } from '../benches.js'
import type { Bench } from '../harness/bench.js'
import type { Result } from '../harness/results.js'
import { markdownTable, shown } from '../harness/table.js'

/** The last result of each bench that has one, by its name. */
export type Results = ReadonlyMap<string, Result>

/** The page with the figures that are on record between its marks. */
export function withFigures(page: string, results: Results): string {
  const [before, , after] = page.split(/<!-- (?:figures|end of figures) -->\n/)
  return `${before}<!-- figures -->\n${figures(results)}<!-- end of figures -->\n${after}`
}

function figures(results: Results): string {
  return [aimsOf(results), ...benches.map((bench) => section(bench, results.get(bench.name)))].join('\n')
}

function aimsOf(results: Results): string {
  const rows = aims.map((aim) => {
    const ratios = results.get(aim.bench)?.ratios ?? {}
    const [own] = judged(aim.bench, ratios).filter(({ what }) => what === aim.what)
    const measured = own?.measured === undefined ? '' : shown(own.measured)
    const verdict = results.has(aim.bench) ? own?.verdict : 'not yet measured'
    return [aim.what, own?.aim ?? '', measured, verdict ?? '', `[${aim.bench}](#${aim.bench})`]
  })
  const columns = ['what', 'aim', 'measured', '', 'by']
  return `## Aims\n\n${markdownTable({ title: '', columns, rows })}\n`
}

function section({ name, measures, how }: Bench, result: Result | undefined): string {
  const head = `## ${name}\n\n${sentence(measures)} ${how.replaceAll('\n', ' ')}\n`
  if (result === undefined) return `${head}\n\`npm run bench -- ${name}\`: not yet measured.\n`
  return [head, told(result), ...result.tables.map(shownTable), ...remarksOf(result)].join('\n')
}

function told(result: Result): string {
  const { command, date, commit, node, cores, processor, memoryGb, versions } = result
  const used = [`Node.js ${node}`, ...Object.entries(versions).map(([name, version]) => `${name} ${version}`)]
  const machine = `${cores} × ${processor}, ${memoryGb} GB, ${busyness(result)}`
  return `\`${command}\`\n\nMeasured on ${date} UTC at commit ${commit}; ${machine}; ${used.join(', ')}.\n`
}

function busyness({ busyBefore, busyMeanwhile }: Result): string {
  const before = `${Math.round(100 * busyBefore)} % busy before`
  return busyMeanwhile === undefined
    ? before
    : `${before}, at most ${Math.round(100 * busyMeanwhile)} % by others meanwhile`
}

function shownTable(table: Result['tables'][number]): string {
  const chart = table.chart && `![${table.title}: ${table.chart.value}](performance/${table.chart.name}.svg)\n\n`
  return `### ${table.title}\n\n${chart ?? ''}${markdownTable(table)}\n`
}

function remarksOf({ remarks }: Result): readonly string[] {
  return remarks.length === 0 ? [] : [`${remarks.map((remark) => `- ${remark}`).join('\n')}\n`]
}

function sentence(measures: string): string {
  return `${measures.charAt(0).toUpperCase()}${measures.slice(1)}.`
}
