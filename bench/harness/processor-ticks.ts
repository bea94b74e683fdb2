import { readdirSync, readFileSync } from 'node:fs'

/** What the processors did since the machine started, in ticks, by whom. */
export interface Ticks {
  readonly all: number
  /** For any program, or for the neighbours of a virtual machine; interrupts are nobody's. */
  readonly busy: number
  /** For this process and everything that takes part with it. */
  readonly own: number
}

/** `undefined` where the machine has no `/proc`. */
export function processorTicks(): Ticks | undefined {
  const line = read('/proc/stat')?.split('\n')[0]
  if (line === undefined) return undefined
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number)
  const busy = user + nice + system + stolen
  return { all: busy + idle + waiting + interrupts + soft, busy, own: ownTicks() }
}

/** Those whose time is our own, and what each had taken before it was. */
const roots = new Map([[process.pid, 0]])

/** A server that others started takes part, too: all that it does from here on is our own. */
export function takesPart(pid: number): void {
  const processes = allProcesses()
  if (treeOf(pid, processes).length > 0 && !ownTree(processes).includes(pid)) roots.set(pid, ticksOf(pid, processes))
}

/** A process that has ended is in the time of the one that started it. */
function ownTicks(): number {
  const processes = allProcesses()
  return [...roots].reduce((sum, [pid, before]) => sum + ticksOf(pid, processes) - before, 0)
}

interface Process {
  readonly parent: number
  /** Its own, and those of its children that have ended. */
  readonly ticks: number
}

type Processes = ReadonlyMap<number, Process>

function ticksOf(pid: number, processes: Processes): number {
  return treeOf(pid, processes).reduce((sum, one) => sum + (processes.get(one)?.ticks ?? 0), 0)
}

function ownTree(processes: Processes): readonly number[] {
  return [...roots.keys()].flatMap((pid) => treeOf(pid, processes))
}

/** A process that there is, and all that it has started, directly or not. */
function treeOf(pid: number, processes: Processes): readonly number[] {
  if (!processes.has(pid)) return []
  const tree = [pid]
  for (const parent of tree) for (const [child, one] of processes) if (one.parent === parent) tree.push(child)
  return tree
}

function allProcesses(): Processes {
  return new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        // Behind its name, which may hold anything: the state, the parent, and so on.
        const fields = read(`/proc/${name}/stat`)?.split(') ').at(-1)?.split(' ').map(Number)
        if (fields === undefined) return []
        const [parent = 0, user = 0, system = 0, usersOfEnded = 0, systemsOfEnded = 0] = [1, 11, 12, 13, 14].map(
          (place) => fields[place],
        )
        return [[Number(name), { parent, ticks: user + system + usersOfEnded + systemsOfEnded }]]
      }),
  )
}

/** A process may be gone by now. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
