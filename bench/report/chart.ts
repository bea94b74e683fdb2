import { type Cell, shown, type Table } from '../harness/table.js'

/** Bars of a table, drawn so that they can be read on a light page and on a dark one. */
export function drawn(table: Table): string {
  const { chart } = table
  if (chart === undefined) throw new Error(`${table.title} has no chart.`)
  const lines = linesOf(table)
  const values = lines.flatMap((line) => (line.kind === 'bar' && typeof line.value === 'number' ? [line.value] : []))
  const longest = Math.max(...values)
  const height = top + lines.length * lineHeight + 8
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(`${table.title}: ${chart.value}`)}</title>`,
    style,
    `<text class="heading" x="0" y="16">${escaped(`${table.title}: ${chart.value}`)}</text>`,
    ...lines.map((line, index) => drawnLine(line, top + index * lineHeight, longest)),
    '</svg>\n',
  ].join('\n')
}

const width = 760
const top = 30
const lineHeight = 22
/** Where bars begin, and how long the longest is. */
const left = 240
const reach = 420

const style = `<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .heading, .group { font-weight: 600 }
  .value { font-variant-numeric: tabular-nums }
  .bar { fill: #8c959f }
  .bar.own { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .bar { fill: #6e7681 }
    .bar.own { fill: #4493f8 }
  }
</style>`

type Line =
  | { readonly kind: 'group'; readonly text: string }
  | { readonly kind: 'bar'; readonly text: string; readonly value: Cell; readonly whose: 'own' | 'others' }

function linesOf({ columns, rows, chart }: Table): readonly Line[] {
  const at = (column: string | undefined) => columns.indexOf(column ?? '')
  const [group, series, value] = [at(chart?.group), at(chart?.series), at(chart?.value)]
  let last: string | undefined
  return rows.flatMap((row): readonly Line[] => {
    const name = String(row[group])
    const text = series === -1 ? name : String(row[series])
    const whose = chart?.others.includes(text) ? 'others' : 'own'
    const bar: Line = { kind: 'bar', text, value: row[value] ?? '', whose }
    const isNew = series !== -1 && name !== last
    last = name
    return isNew ? [{ kind: 'group', text: headingOf(columns[group], name) }, bar] : [bar]
  })
}

/** A number alone says nothing. */
function headingOf(column: string | undefined, name: string): string {
  return /^[\d,]+$/.test(name) ? `${column}: ${name}` : name
}

function drawnLine(line: Line, y: number, longest: number): string {
  const baseline = y + 15
  if (line.kind === 'group') return `<text class="group" x="0" y="${baseline}">${escaped(line.text)}</text>`
  const length = typeof line.value === 'number' ? Math.max(1, Math.round((line.value / longest) * reach)) : 0
  const bar = `<rect class="bar${line.whose === 'own' ? ' own' : ''}" x="${left}" y="${y + 3}" width="${length}" height="16" rx="2"/>`
  return [
    `<text x="12" y="${baseline}">${escaped(line.text)}</text>`,
    ...(length > 0 ? [bar] : []),
    `<text class="value" x="${left + length + 6}" y="${baseline}">${escaped(shown(line.value))}</text>`,
  ].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
