const gap = 2
/** Where nobody says how wide the terminal is: into a file or a pipe. */
const plainWidth = 80
/** Longer lines are hard to read, shorter ones break every other word. */
const longest = 100
const shortest = 24

/**
 * Rows as lines of text. The last column is wrapped to what is left of the width; on a terminal where too little is left, it
 * comes beneath its row.
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number | undefined,
): readonly string[] {
  const width = columns ?? plainWidth
  const all = [heads, ...rows]
  const widths = heads.slice(0, -1).map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)) + gap)
  const left = widths.reduce((sum, one) => sum + one, 0)
  const longestLast = Math.max(...all.map((row) => row.at(-1)?.length ?? 0))
  if (columns !== undefined && width - left < Math.min(shortest, longestLast)) return beneath(all, widths, width)
  const room = Math.max(shortest, Math.min(width - left, longest))
  return all.flatMap((row) => {
    const start = widths.map((one, column) => (row[column] ?? '').padEnd(one)).join('')
    return wrapped(row.at(-1) ?? '', room).map((line, index) => (index === 0 ? start : ' '.repeat(left)) + line)
  })
}

const further = ' '.repeat(6)

function beneath(all: readonly (readonly string[])[], widths: readonly number[], width: number): readonly string[] {
  return all.flatMap((row) => {
    const start = widths.map((one, column) => (row[column] ?? '').padEnd(one)).join('')
    return [start.trimEnd(), ...wrapped(row.at(-1) ?? '', width - further.length).map((line) => `${further}${line}`)]
  })
}

export function wrapped(text: string, room: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > room) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
