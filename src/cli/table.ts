const gap = 2
/** Where nobody says how wide the terminal is: into a file or a pipe. */
const plainWidth = 80
/** Longer lines are hard to read, shorter ones break every other word. */
const longest = 100
const shortest = 24

/** Rows as lines of text. The last column is wrapped to what is left of the width. */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  width: number = plainWidth,
): readonly string[] {
  const all = [heads, ...rows]
  const widths = heads.slice(0, -1).map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)) + gap)
  const left = widths.reduce((sum, one) => sum + one, 0)
  const room = Math.max(shortest, Math.min(width - left, longest))
  return all.flatMap((row) => {
    const start = widths.map((one, column) => (row[column] ?? '').padEnd(one)).join('')
    return wrapped(row.at(-1) ?? '', room).map((line, index) => (index === 0 ? start : ' '.repeat(left)) + line)
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
