/** What was measured, as people read it: printed, kept on record and shown in docs by the same rows. */
export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
  readonly chart?: Chart
}

export type Cell = string | number

/** Which columns are drawn. */
export interface Chart {
  /** Of its file. */
  readonly name: string
  /** Rows that stand together, and what tells them apart there. */
  readonly group: string
  readonly series?: string
  readonly value: string
  /** Those who are not Hapax: what is ours stands out. */
  readonly others: readonly string[]
}

/** In columns of one width, numbers to the right. */
export function plainTable({ title, columns, rows }: Table): string {
  const cells = [columns, ...rows.map((row) => row.map(shown))]
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  const isNumeric = columns.map((_, at) => rows.some((row) => typeof row[at] === 'number'))
  const line = (row: readonly string[]) =>
    row.map((cell, at) => (isNumeric[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))).join('   ')
  return [title, ...cells.map((row) => `  ${line(row).trimEnd()}`)].join('\n')
}

export function markdownTable({ columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = columns.map((_, at) => (rows.some((row) => typeof row[at] === 'number') ? '---:' : '---'))
  return [line(columns), `|${rule.join('|')}|`, ...rows.map((row) => line(row.map(shown)))].join('\n')
}

export function shown(cell: Cell): string {
  return typeof cell === 'number' ? cell.toLocaleString('en', { maximumFractionDigits: 3 }) : cell
}

/** A dash where nobody can say. */
export function orDash(number: number): Cell {
  return Number.isFinite(number) ? number : '–'
}

/** Three digits say all that a measurement knows. */
export function rounded(number: number): number {
  if (Math.abs(number) >= 1_000) return Math.round(number)
  return Number(number.toPrecision(3))
}
