/** Whoever calls ports: a node, a client, a provider. One that has crashed is never told anything again. */
export interface Process {
  readonly name: string
  /** Only nodes of ours crash and freeze. Everybody else is outside, and may do what he wants anyway. */
  readonly kind: 'node' | 'outside'
  isAlive: boolean
  /** Until then it hears nothing, as if it had been stopped by its machine. Its clocks go on. */
  frozenUntil: number
  /** Its wall clock may be wrong; its monotonic clock is not. */
  wallOffsetMs: number
  /** What it has been told so far, as a number: in two runs in which all were told the same, all go on the same. */
  told: number
  /** The replies that were on their way to it when it could not hear, as a number. */
  owed: number
  /** Called when it crashes: its database rolls back, whoever talks to it notices. */
  readonly onCrash: (() => void)[]
}

export function newProcess(name: string, kind: Process['kind'] = 'outside'): Process {
  return { name, kind, isAlive: true, frozenUntil: 0, wallOffsetMs: 0, told: 0, owed: 0, onCrash: [] }
}

/** What the process was told before, and now this. */
export function remembered(told: number, time: number, what: string): number {
  const text = `${time} ${what}`
  // FNV-1a over 53 bits: two parts, so that products stay exact.
  let [low, high] = [(told >>> 0) ^ 0x811c9dc5, Math.floor(told / 2 ** 32) ^ 0x1b873593]
  for (let index = 0; index < text.length; index++) {
    low = Math.imul(low ^ text.charCodeAt(index), 0x01000193) >>> 0
    high = Math.imul(high ^ low, 0x85ebca6b) >>> 0
  }
  return (high & 0x1fffff) * 2 ** 32 + low
}

/** All that matters of a process from outside. */
export function stateOf({ name, isAlive, frozenUntil, wallOffsetMs, told, owed }: Process): readonly unknown[] {
  return [name, isAlive, frozenUntil, wallOffsetMs, told, owed]
}

/** What was learned, whatever it is. */
export function wordsOf(what: unknown): string {
  if (what instanceof Error) return `${what.name}: ${what.message}`
  return JSON.stringify(what, (_, value: unknown) => (value instanceof Uint8Array ? [...value] : value)) ?? 'undefined'
}
