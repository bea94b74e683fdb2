import type { Way } from './faults.js'
import type { Hearing } from './hearing.js'
import type { PortCall } from './port-call.js'
import type { Process } from './process.js'
import type { Task } from './task.js'
import { adriftOf, ghost, happened, type Pending, replyOf } from './under-way.js'

/** How long a process is stopped for, or a clock jumps: longer than any lease. */
const longMs = 60_000

/** How late something is that comes when the lease of whoever asked for it is over, unless he has renewed it. */
const overdueMs = 31_000

/** What a fault needs of the world that it harms. */
export interface Harmed {
  readonly time: number
  databaseJumpMs: number
  readonly hearing: Hearing
  crash(process: Process): void
  /** This is under way from now on, and nobody waits for what comes of it. */
  goesOn(call: PortCall<unknown>, task: Task | undefined): void
  /** Happens by itself then, on behalf of whoever does something now. */
  at(at: number, process: Process, callback: () => void): void
}

/** Lets a call end in one of the ways in which it should not. */
export function goesWrong({ call, resolve, reject, task }: Pending, way: Way, world: Harmed): void {
  const { process } = call
  const { hearing } = world
  const tell = () => hearing.reply(process, happened(call, resolve, reject))
  const tellBroken = (error: Error | undefined, how = 'is broken') =>
    hearing.reply(process, { tell: () => reject(error), learned: () => `${call.words()} ${how}` })
  const breakLine = () => tellBroken(call.broken?.())
  // The request is on its way, and arrives when nobody waits for it any more.
  const driftsOn = () => world.goesOn(adriftOf(call), task)
  switch (way) {
    case 'break_before':
      breakLine()
      break
    case 'break_after':
      happened(call, resolve, reject)
      breakLine()
      break
    case 'break_meanwhile':
      tellBroken(call.adrift?.() ?? call.broken?.())
      driftsOn()
      break
    case 'linger':
      // What it was told tells this state from one in which nothing is on its way.
      tellBroken(call.adrift?.() ?? call.broken?.(), 'is broken, and lingers')
      world.at(call.until ?? world.time + overdueMs, ghost, driftsOn)
      break
    case 'cancel':
      hearing.reply(process, happened(call, resolve, reject, 'cancelled'))
      break
    case 'crash_before':
      world.crash(process)
      break
    case 'crash_after':
      happened(call, resolve, reject)
      world.crash(process)
      break
    case 'crash_meanwhile':
      call.adrift?.()
      world.crash(process)
      driftsOn()
      break
    case 'late_reply': {
      const reply = happened(call, resolve, reject)
      hearing.owes(process, reply)
      world.goesOn(
        replyOf(call, () => hearing.reply(process, reply)),
        task,
      )
      break
    }
    case 'overdue_reply': {
      const reply = happened(call, resolve, reject)
      hearing.owes(process, reply, 'overdue')
      world.at(world.time + overdueMs, process, () => hearing.reply(process, reply))
      break
    }
    case 'freeze':
      process.frozenUntil = world.time + longMs
      tell()
      break
    case 'stall':
      process.frozenUntil = world.time + longMs
      hearing.reply(process, happened(call, resolve, reject), 'first')
      break
    case 'clock_jump':
      world.databaseJumpMs += longMs
      tell()
      break
    case 'wall_back':
      process.wallOffsetMs -= 10 * longMs
      tell()
      break
    case 'wall_ahead':
      process.wallOffsetMs += 10 * longMs
      tell()
      break
    case 'haste':
      throw new Error('unreachable: haste is not about a call')
  }
}
