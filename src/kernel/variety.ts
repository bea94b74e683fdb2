/** Whether a text has at least so many different characters. Apart from the limits, so that the client does not carry all of them. */
export function hasVariety(text: string, least: number): boolean {
  const seen = new Set<number>()
  for (let index = 0; index < text.length && seen.size < least; index++) seen.add(text.charCodeAt(index))
  return seen.size >= least
}
