import { type Process, remembered } from './process.js'
import type { Task } from './task.js'
import type { Timers } from './timers.js'
import type { ReplyOnItsWay } from './under-way.js'

/** What is known of the world by whoever tells its processes something. */
interface Moment {
  readonly time: number
  readonly task: Task | undefined
  /** Whether it keeps in short what each process was told. */
  readonly remembers: boolean
}

/** What processes hear, and when: one that is stopped hears of it when it goes on. */
export class Hearing {
  readonly #moment: Moment
  readonly #timers: Timers

  constructor(moment: Moment, timers: Timers) {
    this.#moment = moment
    this.#timers = timers
  }

  /** The process is told what came of its call; `first`: before what else it has to do when it goes on. */
  reply(process: Process, replied: ReplyOnItsWay, place?: 'first'): void {
    if (process.frozenUntil <= this.#moment.time) this.#tell(process, replied)
    else {
      this.owes(process, replied, place)
      this.#whenItGoesOn(process, () => this.#tell(process, replied), place)
    }
  }

  /** What is in a reply is decided when it happens, whenever it arrives. */
  owes(process: Process, { learned }: ReplyOnItsWay, place = 'last'): void {
    const { remembers, time } = this.#moment
    if (remembers) process.owed = remembered(process.owed, time, `${place}: ${learned()}`)
  }

  /** Something arrives at a process, and begins there. */
  arrives(process: Process, words: string, begin: () => void): void {
    const { remembers, time } = this.#moment
    if (process.frozenUntil <= time) {
      this.learns(process, words)
      begin()
      return
    }
    if (remembers) process.owed = remembered(process.owed, time, words)
    this.#whenItGoesOn(process, () => {
      this.learns(process, words)
      begin()
    })
  }

  /** Puts down that it knows this from now on. */
  learns(process: Process, words: string): void {
    const { remembers, time } = this.#moment
    if (remembers) process.told = remembered(process.told, time, words)
  }

  #tell(process: Process, { tell, learned }: ReplyOnItsWay): void {
    // What is learned is worth its words only to who remembers.
    if (this.#moment.remembers) this.learns(process, learned())
    tell()
  }

  #whenItGoesOn(process: Process, callback: () => void, place?: 'first'): void {
    const { task } = this.#moment
    this.#timers.add({ at: process.frozenUntil, process, callback, isWeak: false, task }, place)
  }
}
