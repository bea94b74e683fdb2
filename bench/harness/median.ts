/** The one in the middle, or what is between the two: of runs on a shared machine some are the neighbours'. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const above = sorted[sorted.length >> 1] ?? Number.NaN
  const below = sorted[(sorted.length - 1) >> 1] ?? Number.NaN
  return (below + above) / 2
}
