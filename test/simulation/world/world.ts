import type { Clock } from '../../../src/kernel/clock.js'
import { type Chooser, usual } from './choices.js'
import { type Fault, type Faults, faultsFor, haste, timely, words } from './faults.js'
import { goesWrong, type Harmed } from './going-wrong.js'
import { Hearing } from './hearing.js'
import { happens, type PortCall, type Ports } from './port-call.js'
import { type Process, stateOf, wordsOf } from './process.js'
import { countsOf, type Task } from './task.js'
import { type Timer, timers } from './timers.js'
import {
  type Deed,
  deedsOf,
  ghost,
  happened,
  harmsToWaiting,
  isFirst,
  isReady,
  nobody,
  none,
  type Pending,
  recalled,
} from './under-way.js'

/** When every world begins: not 0, which would hide a missing time. */
const beginning = Date.UTC(2030, 0, 1)

/** How a line of a trace begins that says what came of the step above it. */
export const consequence = '→ '

/** That there is nothing left to choose, in words. */
export const calm = 'from here on nothing goes wrong'

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
  /** Whether it tells also of what happens when nothing goes wrong any more. */
  readonly tellsAll?: boolean
}

/**
 * Time, lines and chance, owned by one scheduler. Whatever runs in it runs between two calls to a port and nowhere else, so
 * that a list of choices is all that a schedule is.
 */
export class World implements Ports, Harmed {
  /** What happened, while something could go wrong or to the end. */
  readonly trace: (() => string)[] = []
  /** Milliseconds since it began. */
  time = 0
  /** How much the database's clock has jumped. */
  databaseJumpMs = 0
  steps = 0
  /** Rows that have been changed for good by what happened here. */
  writes = 0
  /** How much the judges have noted that is judged by whether it was there when somebody began. */
  noted = 0
  /** On whose behalf everything runs until the next step: what follows from a call is done for whoever made it. */
  task: Task | undefined
  /** Whether nothing has gone wrong so far but lines and statements, however slow they are: everybody is there, and hears of it. */
  isTimely = true
  /** Whether what happened last was on its way when its line broke: nobody hears of it. */
  isAdrift = false
  readonly processes: Process[] = []
  readonly #options: WorldOptions
  #chooser: Chooser
  #pending: Pending[] = []
  #isCalm = false
  readonly #timers = timers()
  readonly hearing = new Hearing(this, this.#timers)
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
    const isUrgent = ready[0]?.call.isUrgent === true && this.#options.remembers === true
    // Time may pass although something could happen: that something is slow.
    const mayPass = timer !== undefined && ready.length > 0 && faults.left.haste > 0 && !isUrgent
    const harms = isUrgent ? none : this.#harmsToWaiting(ready)
    if (chooser.which !== undefined) {
      const taken = recalled(chooser.which, [...deedsOf(ready, faults), ...harms], mayPass)
      if (taken !== undefined) return taken === haste ? this.#hastens(timer) : this.#goes(taken)
    }
    const harm = harms.length === 0 ? undefined : harms[chooser.how(harms.length + 1) - 1]
    if (harm !== undefined) return this.#goes(harm)
    if (ready.length === 0) return this.#passed(timer)
    const index = chooser.what(ready.length + (mayPass ? 1 : 0))
    const pending = ready[index]
    if (pending === undefined) return this.#hastens(timer)
    const ways = faultsFor(pending.call, faults, isFirst(ready, index))
    return this.#goes({ pending, way: ways[chooser.how(ways.length)] ?? 'none' })
  }

  /** What may go wrong now with whatever waits for a lock. */
  #harmsToWaiting(ready: readonly Pending[]): readonly Deed[] {
    const { faults } = this.#options
    // Nearly always nothing waits.
    if (ready.length === this.#pending.length || !faults.areLeft()) return none
    return harmsToWaiting(this.#pending, ready, faults)
  }

  #goes({ pending, way }: Deed): 'more' {
    this.#options.faults.take(way)
    if (!timely.has(way)) this.isTimely = false
    this.#tells(pending, way)
    this.#takes(pending, way)
    return 'more'
  }

  #hastens(timer: Timer | undefined): 'more' | 'over' {
    this.#options.faults.take('haste')
    this.trace.push(() => haste)
    return this.#passed(timer)
  }

  /** The first that can happen does, as it should; time passes when there is none. */
  #usualStep(): 'more' | 'over' {
    const chosen = this.#pending.find(isReady)
    if (chosen === undefined) return this.#passed(this.#timers.next())
    this.#tells(chosen, 'none')
    this.#takes(chosen, 'none')
    return 'more'
  }

  /** Puts down who comes now, where that is told to the end: it is not chosen. */
  comes(who: string): void {
    if (this.#options.tellsAll) this.trace.push(() => who)
  }

  /** Puts down what happens now, where that is told. */
  #tells({ call }: Pending, way: Fault): void {
    if (this.#isTold()) this.trace.push(() => words(call, way))
  }

  #isTold(): boolean {
    return this.#chooser !== usual || this.#options.tellsAll === true
  }

  /** It is under way no longer, and what it writes is written by its task. */
  #takes(chosen: Pending, way: Fault): void {
    this.task = chosen.task
    this.isAdrift = chosen.call.process === ghost
    this.#pending.splice(this.#pending.indexOf(chosen), 1)
    const before = this.#options.writes?.() ?? 0
    this.#happens(this.#options.tellsAll ? this.#telling(chosen) : chosen, way)
    const written = (this.#options.writes?.() ?? 0) - before
    this.writes += written
    if (chosen.task !== undefined) chosen.task.writes += written
  }

  /** The same, and what its process is told is put down where nothing else shows it: an error, or that nothing was changed. */
  #telling(pending: Pending): Pending {
    const { call, resolve, reject } = pending
    const told = (what: string) => this.trace.push(() => `${consequence}${call.process.name} is told: ${what}`)
    return {
      ...pending,
      resolve(value) {
        if (call.isInVain?.(value)) told('nothing was changed')
        resolve(value)
      },
      reject(error) {
        told(wordsOf(error))
        reject(error)
      },
    }
  }

  /** From here on everything goes well, in the order in which it is asked for: nothing is chosen any more. */
  calm(): void {
    if (this.#options.tellsAll) this.trace.push(() => calm)
    this.#options.faults.end()
    this.#chooser = usual
    this.#isCalm = this.#options.remembers !== true
  }

  /** Whether everything has gone well so far. */
  get isUnharmed(): boolean {
    return !this.#options.faults.areTaken()
  }

  /** Nothing happens for so long. What was due meanwhile is due now. */
  pass(ms: number): void {
    this.isTimely = false
    this.time += ms
    this.comes(`it is ${this.time / 1_000} s`)
  }

  add(process: Process): Process {
    this.processes.push(process)
    return process
  }

  /** Ends a process: nothing that it asked for is told to it, and its timers are gone. */
  crash(process: Process): void {
    process.isAlive = false
    this.isTimely = false
    this.#pending = this.#pending.filter(({ call }) => call.process !== process)
    this.#timers.drop(process)
    for (const notice of process.onCrash.splice(0)) notice()
  }

  /** What is under way, in short, for telling states apart. */
  digest(): string {
    const pending = this.#pending.map(({ call, task }) => `${call.words()} ${call.saw?.()} ${countsOf(task)}`).sort()
    // Of those that are due at once, the first one that was set fires first.
    const timers = this.#timers.inOrder().map(({ process, task }) => [process.name, ...countsOf(task)])
    const { faults } = this.#options
    return JSON.stringify([this.time, this.databaseJumpMs, faults, this.processes.map(stateOf), pending, timers])
  }

  #happens(pending: Pending, way: Fault): void {
    const { call, resolve, reject } = pending
    // Nearly always: so it makes nothing that only what goes wrong needs.
    if (way !== 'none') goesWrong(pending, way, this)
    else if (this.#options.remembers || call.process.frozenUntil > this.time)
      this.hearing.reply(call.process, happened(call, resolve, reject))
    else happens(call, resolve, reject)
  }

  /** Happens by itself then, on behalf of whoever does something now. */
  at(at: number, process: Process, callback: () => void): void {
    this.#timers.add({ at, process, callback, isWeak: false, task: this.task })
  }

  /** This is under way from now on, and nobody waits for what comes of it. */
  goesOn(call: PortCall<unknown>, task: Task | undefined): void {
    this.#add(call, nobody, nobody, task)
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

  /** It belongs to what has happened: nothing is chosen. */
  #endTurns(): 'more' {
    for (const { process, callback } of this.#turnEnds.splice(0)) {
      if (!process.isAlive) continue
      this.hearing.learns(process, 'end of turn')
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
    if (passedMs > 0 && this.#isTold()) {
      const untilMs = this.time
      this.trace.push(() => `${passedMs / 1_000} s pass, until ${untilMs / 1_000} s`)
    }
    this.hearing.learns(process, 'timer')
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
