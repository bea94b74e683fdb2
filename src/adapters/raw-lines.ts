/** The lines of a header, each apart, out of the raw headers of node: names and values in turn. */
export function rawLines(rawHeaders: readonly string[], name: string): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string
    if (given.length === name.length && given.toLowerCase() === name) lines.push(rawHeaders[at + 1] as string)
  }
  return lines
}
