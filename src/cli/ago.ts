const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** In the largest unit that it fills: people ask for hours or for days. */
export function age(ms: number): string {
  const [unit, size] = units.find(([, size]) => ms >= size) ?? ['s', 1_000]
  return `${Math.floor(Math.max(0, ms) / size)}${unit}`
}

/** How long ago, by the clock of this machine. */
export function ago(time: string, now: number): string {
  return age(now - Date.parse(time))
}
