export const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

type Unit = keyof typeof unitMs

/** A duration as people write it: `'250ms'`, `'30s'`, `'15m'`, `'24h'`, `'7d'`. */
export type Duration = `${number}${Unit}`

const pattern = /^(\d{1,9})(ms|s|m|h|d)$/

/** In milliseconds; `undefined` for what is none. Apart from the errors, so that the client does not carry all of them. */
export function durationMs(text: string): number | undefined {
  const match = pattern.exec(text)
  return match === null ? undefined : Number(match[1]) * unitMs[match[2] as Unit]
}
