/** How often each came. */
export type Counts = Readonly<Record<string, number>>

export function countsOf(came: readonly string[]): Counts {
  const counts: Record<string, number> = {}
  for (const one of came) counts[one] = (counts[one] ?? 0) + 1
  return counts
}
