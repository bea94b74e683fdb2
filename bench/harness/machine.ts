import { execFileSync } from 'node:child_process'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../scripts/root.mjs'

/** Where and when something was measured; nothing in it says whose machine it was. */
export interface Circumstances {
  readonly date: string
  readonly commit: string
  readonly node: string
  readonly cores: number
  readonly processor: string
  readonly memoryGb: number
  /** Of all cores, in the second before the bench began: what others took. */
  readonly busyBefore: number
  /** Of all cores, in ten seconds while the bench ran: the most that others took. Absent where nobody can say. */
  readonly busyMeanwhile?: number
  /** The average of a minute, before the bench began. */
  readonly load: number
}

export async function circumstances(): Promise<Circumstances> {
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    commit: commit(),
    node: process.version,
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    busyBefore: await busyShare(),
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
  }
}

/** With a plus when what is measured differs from it. */
function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  try {
    return git('rev-parse', '--short=10', 'HEAD') + (git('status', '--porcelain', '--', 'src') === '' ? '' : '+')
  } catch {
    return 'unknown'
  }
}

async function busyShare(): Promise<number> {
  const before = processorTimes()
  await sleep(1_000)
  const after = processorTimes()
  return Number((1 - (after.idle - before.idle) / (after.all - before.all)).toFixed(2))
}

function processorTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((cpu) => cpu.times)
  const sum = (of: (time: (typeof times)[number]) => number) => times.reduce((all, time) => all + of(time), 0)
  return { idle: sum(({ idle }) => idle), all: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq) }
}
