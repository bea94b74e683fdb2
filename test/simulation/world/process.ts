/** Whoever calls ports: a node, a client, a provider. One that has crashed is never told anything again. */
export interface Process {
  readonly name: string
  isAlive: boolean
  /** What it has been told so far, in short: two runs in which all processes were told the same go on the same. */
  told: string
  /** Its wall clock may be wrong; its monotonic clock is not. */
  wallOffsetMs: number
  /** Called when it crashes: whoever talks to it notices. */
  readonly onCrash: (() => void)[]
}

export function newProcess(name: string): Process {
  return { name, isAlive: true, told: '', wallOffsetMs: 0, onCrash: [] }
}
