import { backoffMs } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import { type Clock, sleep } from '../kernel/clock.js'
import { backoffs, limits } from '../kernel/limits.js'
import type { Background } from './background.js'
import type { BoundedStore } from './bounded-store.js'
import type { Reservation } from './verdict.js'

/**
 * Reservations that nobody heard of. The store was silent, so nothing ran, yet the reservation may stand, or may
 * still land. Left alone it would turn into a doubt about nothing; so it is looked for and given back, until its
 * lease would be over anyway. One loop looks after all of them, and their number is bounded: beyond it, the sweeper
 * finds doubt.
 */
export interface Abandoned {
  add(unheard: Unheard): void
}

type Unheard = Pick<Reservation, 'scope' | 'key' | 'claimId' | 'leaseMs'>

export function abandoned(store: BoundedStore, clock: Clock, chance: Chance, background: Background): Abandoned {
  const waiting = new Map<Unheard, number>()
  let looking = false
  let listening = false

  async function giveBack(unheard: Unheard): Promise<void> {
    const record = await store.find(unheard)
    if (record?.claimId === unheard.claimId) await store.release(record)
  }

  /** One that was given back is looked for until its time is up: it may have been sent twice, and land again. */
  async function lookOnce(): Promise<void> {
    for (const [unheard, deadline] of waiting) {
      if (clock.elapsed() >= deadline) waiting.delete(unheard)
      else await giveBack(unheard)
    }
  }

  async function look(): Promise<void> {
    const { ended } = background
    for (let round = 1; waiting.size > 0 && !ended.isStopped; round++) {
      await sleep(clock, backoffMs(backoffs.storing, round, chance), ended)
      await lookOnce().catch(() => undefined) // The store is still down: the next round tries again.
    }
    looking = false
  }

  /** The last chance before the store is closed; the shutdown waits for it a little. */
  function listen(): void {
    if (listening) return
    listening = true
    const lookAgain = () => void background.track(lookOnce()).catch(() => undefined)
    background.ended.onStop(lookAgain)
  }

  return {
    add(unheard) {
      if (waiting.size >= limits.abandoned) return
      waiting.set(unheard, clock.elapsed() + unheard.leaseMs)
      if (looking) return
      looking = true
      listen()
      void look()
    },
  }
}
