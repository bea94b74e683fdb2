/** The lines of a header, each apart, out of the raw headers of node: names and values in turn. */
export function rawLines(rawHeaders: readonly string[], name: string): readonly string[] {
  let lines: string[] | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    lines ??= []
    lines.push(rawHeaders[at + 1] as string)
  }
  return lines ?? none
}

const none: readonly string[] = Object.freeze([])
