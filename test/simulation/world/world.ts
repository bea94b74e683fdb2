import type { Clock } from '../../../src/kernel/clock.js'
import { type Chooser, usual } from './choices.js'
import { type Fault, type Faults, faultsFor, timely, words } from './faults.js'
import { happens, type PortCall, type Ports } from './port-call.js'
import { newProcess, type Process, remembered, stateOf, wordsOf } from './process.js'
import type { Task } from './task.js'
import { type Timer, timers } from './timers.js'

/** How long a process is stopped for, or a clock jumps: longer than any lease. */
const longMs = 60_000

/** When every world begins: not 0, which would hide a missing time. */
const beginning = Date.UTC(2030, 0, 1)

/** A call that is under way, and whom to tell. Nobody waits for the reply of a process that has crashed. */
interface Pending {
  readonly call: PortCall<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly task: Task | undefined
  /** As its call says: asked at every step of everything that is under way, and calls are of many shapes. */
  readonly until: number
  readonly mayWait: boolean
}

export interface WorldOptions {
  readonly chooser: Chooser
  readonly faults: Faults
  /** More steps than this mean that something goes in circles. */
  readonly mostSteps?: number
  /** Called when nothing is left to happen; `false`: that was all. */
  readonly onIdle?: () => boolean
  /** Called after each step, with all that followed from it. */
  readonly onStep?: () => void
  /** How many rows have been changed for good so far: what a call adds to it is written by its task. */
  readonly writes?: () => number
  /** Keeps in short what each process was told. */
  readonly remembers?: boolean
}

/**
 * Time, lines and chance, owned by one scheduler. Whatever runs in it runs between two calls to a port and nowhere else, so
 * that a list of choices is all that a schedule is.
 */
export class World implements Ports {
  /** What happened while something could go wrong. */
  readonly trace: (() => string)[] = []
  /** Milliseconds since it began. */
  time = 0
  /** How much the database's clock has jumped. */
  databaseJumpMs = 0
  steps = 0
  /** Rows that have been changed for good by what happened here. */
  writes = 0
  /** On whose behalf everything runs until the next step: what follows from a call is done for whoever made it. */
  task: Task | undefined
  /** Whether nothing has gone wrong so far but lines and statements: everybody is there, and hears of it in time. */
  isTimely = true
  /** Whether what happened last was on its way when its line broke: nobody hears of it. */
  isAdrift = false
  readonly processes: Process[] = []
  readonly #options: WorldOptions
  #chooser: Chooser
  #pending: Pending[] = []
  #isCalm = false
  readonly #timers = timers()
  /** What is called when all that follows from the last step has followed. */
  readonly #turnEnds: { readonly process: Process; readonly callback: () => void }[] = []

  constructor(options: WorldOptions) {
    this.#options = options
    this.#chooser = options.chooser
  }

  now(): number {
    return beginning + this.time + this.databaseJumpMs
  }

  call<T>(call: PortCall<T>): Promise<T> {
    return new Promise((resolve, reject) => this.send(call, resolve as Pending['resolve'], reject))
  }

  /** The same for whoever waits for no promise. */
  send<T>(call: PortCall<T>, resolve: Pending['resolve'] = nobody, reject: Pending['reject'] = nobody): void {
    // What a dead process still does is nowhere.
    if (call.process.isAlive) this.#add(call as PortCall<unknown>, resolve, reject, this.task)
  }

  /** The clock of one process. */
  clockOf(process: Process): Clock {
    return {
      now: () => beginning + this.time + process.wallOffsetMs,
      elapsed: () => this.time,
      after: (ms, callback, how) =>
        this.#timers.add({ at: this.time + ms, process, callback, isWeak: how === 'weakly', task: this.task }),
    }
  }

  /** Calls back when all that follows from this step has followed: it is a turn of the event loop of the process. */
  atEndOfTurn(process: Process, callback: () => void): void {
    this.#turnEnds.push({ process, callback })
  }

  /** Whether it keeps in short what each process was told. */
  get remembers(): boolean {
    return this.#options.remembers === true
  }

  /** Makes one thing happen. What follows from it in the processes follows when this turn of the event loop is over. */
  step(): 'more' | 'over' {
    this.#options.onStep?.()
    this.steps++
    if (this.steps > (this.#options.mostSteps ?? 5_000)) throw new Error('It goes in circles.')
    if (this.#turnEnds.length > 0) return this.#endTurns()
    this.#forgetLate()
    if (this.#isCalm) return this.#usualStep()
    const ready = this.#ready()
    const timer = this.#timers.next()
    const { faults } = this.#options
    const chooser = this.#chooser
    // What waits for a lock may be cancelled.
    const isUrgent = ready[0]?.call.isUrgent === true && this.#options.remembers === true
    const waiting = faults.left.cancels > 0 && !isUrgent ? this.#pending.filter(isCancellable) : []
    // Time may pass although something could happen: that something is slow.
    const mayPass = timer !== undefined && ready.length > 0 && faults.left.haste > 0 && !isUrgent
    if (ready.length + waiting.length === 0) return this.#passed(timer)
    const index = chooser.what(ready.length + waiting.length + (mayPass ? 1 : 0))
    const chosen = ready[index] ?? waiting[index - ready.length]
    if (chosen === undefined) {
      faults.take('haste')
      this.isTimely = false
      return this.#passed(timer)
    }
    const ways = index < ready.length ? faultsFor(chosen.call, faults, isFirst(ready, index)) : (['cancel'] as const)
    const way = ways[chooser.how(ways.length)] ?? 'none'
    faults.take(way)
    if (!timely.has(way)) this.isTimely = false
    if (chooser !== usual) this.trace.push(told(chosen.call, way))
    this.#takes(chosen, way)
    return 'more'
  }

  /** The first that can happen does, as it should; time passes when there is none. */
  #usualStep(): 'more' | 'over' {
    const chosen = this.#pending.find(isReady)
    if (chosen === undefined) return this.#passed(this.#timers.next())
    this.#takes(chosen, 'none')
    return 'more'
  }

  /** It is under way no longer, and what it writes is written by its task. */
  #takes(chosen: Pending, way: Fault): void {
    this.task = chosen.task
    this.isAdrift = chosen.call.process === ghost
    this.#pending.splice(this.#pending.indexOf(chosen), 1)
    const before = this.#options.writes?.() ?? 0
    this.#happens(chosen, way)
    const written = (this.#options.writes?.() ?? 0) - before
    this.writes += written
    if (chosen.task !== undefined) chosen.task.writes += written
  }

  /** From here on everything goes well, in the order in which it is asked for: nothing is chosen any more. */
  calm(): void {
    this.#options.faults.end()
    this.#chooser = usual
    this.#isCalm = this.#options.remembers !== true
  }

  /** Something arrives at a process, and begins there: one that is stopped takes it when it goes on. */
  arrives(process: Process, words: string, begin: () => void): void {
    const taken = () => {
      if (this.remembers) process.told = remembered(process.told, this.time, words)
      begin()
    }
    if (process.frozenUntil <= this.time) taken()
    else {
      if (this.remembers) process.owed = remembered(process.owed, this.time, words)
      this.#timers.add({ at: process.frozenUntil, process, callback: taken, isWeak: false, task: this.task })
    }
  }

  /** Whether everything has gone well so far. */
  get isUnharmed(): boolean {
    return !this.#options.faults.areTaken()
  }

  /** Nothing happens for so long. What was due meanwhile is due now. */
  pass(ms: number): void {
    this.isTimely = false
    this.time += ms
  }

  add(process: Process): Process {
    this.processes.push(process)
    return process
  }

  /** Ends a process: nothing that it asked for is told to it, and its timers are gone. */
  crash(process: Process): void {
    process.isAlive = false
    this.#pending = this.#pending.filter(({ call }) => call.process !== process)
    this.#timers.drop(process)
    for (const notice of process.onCrash.splice(0)) notice()
  }

  /** What is under way, in short, for telling states apart. */
  digest(): string {
    const pending = this.#pending.map(({ call }) => call.words()).sort()
    const { faults } = this.#options
    return JSON.stringify([this.time, this.databaseJumpMs, faults, this.processes.map(stateOf), pending])
  }

  #happens(pending: Pending, way: Fault): void {
    const { call, resolve, reject } = pending
    // Nearly always: so it makes nothing that only what goes wrong needs.
    if (way !== 'none') this.#goesWrong(pending, way)
    else if (this.#options.remembers || call.process.frozenUntil > this.time)
      this.#reply(call.process, happened(call, resolve, reject))
    else happens(call, resolve, reject)
  }

  #goesWrong({ call, resolve, reject, task }: Pending, way: Exclude<Fault, 'none'>): void {
    const { process } = call
    const tell = () => this.#reply(process, happened(call, resolve, reject))
    const tellBroken = (error: Error | undefined) =>
      this.#reply(process, { tell: () => reject(error), learned: () => `${call.words()} is broken` })
    const breakLine = () => tellBroken(call.broken?.())
    // The request is on its way, and arrives when nobody waits for it any more.
    const driftsOn = () => {
      this.#add(adriftOf(call), nobody, nobody, task)
    }
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
      case 'cancel':
        this.#reply(process, happened(call, resolve, reject, 'cancelled'))
        break
      case 'crash_before':
        this.crash(process)
        break
      case 'crash_after':
        happened(call, resolve, reject)
        this.crash(process)
        break
      case 'crash_meanwhile':
        call.adrift?.()
        this.crash(process)
        driftsOn()
        break
      case 'late_reply': {
        const reply = happened(call, resolve, reject)
        this.#owes(process, reply)
        const late = replyOf(call, () => this.#reply(process, reply))
        this.#add(late, nobody, nobody, task)
        break
      }
      case 'freeze':
        process.frozenUntil = this.time + longMs
        tell()
        break
      case 'stall':
        process.frozenUntil = this.time + longMs
        this.#reply(process, happened(call, resolve, reject), 'first')
        break
      case 'clock_jump':
        this.databaseJumpMs += longMs
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

  #add(call: PortCall<unknown>, resolve: Pending['resolve'], reject: Pending['reject'], task: Task | undefined): void {
    const { isReady, until = Number.POSITIVE_INFINITY } = call
    this.#pending.push({ call, resolve, reject, task, until, mayWait: isReady !== undefined })
  }

  /** What can happen now. Where every schedule is run, nobody waits for another order of what has none. */
  #ready(): readonly Pending[] {
    // Nearly always all can: then no list is made of them.
    const ready = this.#pending.every(isReady) ? this.#pending : this.#pending.filter(isReady)
    const urgent = this.#options.remembers ? ready.find(({ call }) => call.isUrgent) : undefined
    return urgent === undefined ? ready : [urgent]
  }

  /** A process that is stopped hears of it when it goes on; `first`: before what else it has to do then. */
  #reply(process: Process, replied: Replied, place?: 'first'): void {
    if (process.frozenUntil <= this.time) this.#tell(process, replied)
    else {
      this.#owes(process, replied, place)
      const callback = () => this.#tell(process, replied)
      this.#timers.add({ at: process.frozenUntil, process, callback, isWeak: false, task: this.task }, place)
    }
  }

  /** What is in a reply is decided when it happens, whenever it arrives. */
  #owes(process: Process, { learned }: Replied, place = 'last'): void {
    if (this.#options.remembers) process.owed = remembered(process.owed, this.time, `${place}: ${learned()}`)
  }

  #tell(process: Process, { tell, learned }: Replied): void {
    if (this.#options.remembers) process.told = remembered(process.told, this.time, learned())
    tell()
  }

  /** It belongs to what has happened: nothing is chosen. */
  #endTurns(): 'more' {
    for (const { process, callback } of this.#turnEnds.splice(0)) {
      if (!process.isAlive) continue
      if (this.#options.remembers) process.told = remembered(process.told, this.time, 'end of turn')
      callback()
    }
    return 'more'
  }

  #passed(timer: Timer | undefined): 'more' | 'over' {
    if (timer === undefined || (timer.isWeak && this.#pending.length === 0 && !this.#timers.hasStrong()))
      return this.#options.onIdle?.() ? 'more' : 'over'
    const { process } = timer
    const before = this.time
    this.time = Math.max(this.time, timer.at, process.frozenUntil)
    this.#timers.remove(timer)
    this.task = timer.task
    this.isAdrift = false
    const passedMs = this.time - before
    if (passedMs > 0 && this.#chooser !== usual) this.trace.push(() => `${passedMs / 1_000} s pass`)
    if (this.#options.remembers) process.told = remembered(process.told, this.time, 'timer')
    timer.callback()
    return 'more'
  }

  /** What is on its way for too long never arrives; whoever asked hears nothing. */
  #forgetLate(): void {
    let isLate = false
    for (const { until } of this.#pending) if (until < this.time) isLate = true
    if (isLate) this.#pending = this.#pending.filter(({ until }) => until >= this.time)
  }
}

/** A reply on its way back: whom to tell, and what is learned from it, in short. */
interface Replied {
  readonly tell: () => void
  readonly learned: () => string
}

/** Lets it happen, or be cancelled, and gives the reply. */
function happened(
  call: PortCall<unknown>,
  resolve: Pending['resolve'],
  reject: Pending['reject'],
  how?: 'cancelled',
): Replied {
  try {
    const value = how === 'cancelled' ? call.cancel?.() : call.happen()
    return { tell: () => resolve(value), learned: () => `${call.words()}: ${call.digest?.(value) ?? wordsOf(value)}` }
  } catch (error) {
    return { tell: () => reject(error), learned: () => `${call.words()}: ${wordsOf(error)}` }
  }
}

function isReady({ call, mayWait }: Pending): boolean {
  return !mayWait || call.isReady?.() !== false
}

function told(call: PortCall<unknown>, way: Fault): () => string {
  return () => words(call, way)
}

/** Whether a process crashes before this call of its or before another one is the same. */
function isFirst(ready: readonly Pending[], index: number): boolean {
  return ready.findIndex(({ call }) => call.process === ready[index]?.call.process) === index
}

/** A statement that the server has begun with, and that waits. */
function isCancellable(pending: Pending): boolean {
  return !isReady(pending) && (pending.call.isCancellable?.() ?? false)
}

/** Whose requests are on their way after it has crashed. */
const ghost = newProcess('nobody')

function nobody(): void {}

/** The same call of nobody: its request is on its way, and nothing can be done about it. */
function adriftOf(call: PortCall<unknown>): PortCall<unknown> {
  return {
    process: ghost,
    port: call.port,
    until: call.until,
    isTraceless: call.isTraceless ?? false,
    isUrgent: call.isUrgent ?? false,
    isUnheeded: call.isUnheeded,
    words: () => call.words(),
    isReady: () => call.isReady?.() !== false,
    happen: () => call.happen(),
    digest: (value) => call.digest?.(value) ?? wordsOf(value),
  }
}

/** The reply of a call that has happened, on its way by itself. */
function replyOf(call: PortCall<unknown>, reply: () => void): PortCall<unknown> {
  return {
    process: call.process,
    port: call.port,
    words: () => `the reply to “${call.words()}” arrives`,
    happen: reply,
  }
}
