import { wrapped } from './table.js'

/**
 * Text for a terminal that is narrower than its lines: paragraphs are set anew, an example has what it means beneath it, and
 * no word is broken in two. Elsewhere it stays as it is.
 */
export function fitted(text: string, columns: number | undefined): string {
  if (columns === undefined) return text
  const parts = text
    .trimEnd()
    .split('\n\n')
    .map((part) => {
      const lines = part.split('\n')
      if (lines.every((line) => line.length <= columns)) return part
      const isParagraph = lines.every((line) => /^\S/.test(line))
      const set = isParagraph ? wrapped(part, columns) : lines.flatMap((line) => broken(line, columns))
      return set.join('\n')
    })
  return `${parts.join('\n\n')}${text.slice(text.trimEnd().length)}`
}

function broken(line: string, columns: number): readonly string[] {
  if (line.length <= columns) return [line]
  const indent = /^ */.exec(line)?.[0] ?? ''
  const further = `${indent}    `
  return line
    .trim()
    .split(/ {2,}/)
    .flatMap((part, index) =>
      wrapped(part, columns - further.length).map((one, at) => `${index + at === 0 ? indent : further}${one}`),
    )
}
