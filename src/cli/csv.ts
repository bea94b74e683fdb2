/** The rows of a CSV text (RFC 4180), which comes in lines: a cell in quotes may hold commas, quotes and ends of lines. */
export async function* csvRows(first: string, rest: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let open = first
  if (isWhole(open)) {
    yield cellsOf(open)
    open = ''
  }
  for await (const line of rest) {
    open = open === '' ? line : `${open}\n${line}`
    if (!isWhole(open)) continue
    if (open !== '') yield cellsOf(open)
    open = ''
  }
  if (open !== '') yield cellsOf(open)
}

/** Quotes come in pairs, unless a cell is still open. */
function isWhole(text: string): boolean {
  return (text.split('"').length - 1) % 2 === 0
}

function cellsOf(row: string): readonly string[] {
  const cells = row.match(/(?:"(?:[^"]|"")*"|[^,"])*(?:,|$)/g) ?? []
  // The expression finds one empty cell too many at the end, unless the row ends with a comma.
  const all = cells.map((cell) => cell.replace(/,$/, ''))
  if (!row.endsWith(',')) all.pop()
  return all.map((cell) => (cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell))
}
