import { backoffMs } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import { type Clock, sleep } from '../kernel/clock.js'
import { backoffs, limits } from '../kernel/limits.js'
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

export function abandoned(store: BoundedStore, clock: Clock, chance: Chance, ended: AbortSignal): Abandoned {
  const waiting = new Map<Unheard, number>()
  let looking = false

  async function giveBack(unheard: Unheard): Promise<'given_back' | 'not_seen'> {
    const record = await store.find(unheard)
    if (record?.claimId !== unheard.claimId) return 'not_seen'
    await store.release(record)
    return 'given_back'
  }

  async function lookOnce(): Promise<void> {
    for (const [unheard, deadline] of waiting) {
      if (ended.aborted) return
      if (clock.elapsed() >= deadline || (await giveBack(unheard)) === 'given_back') waiting.delete(unheard)
    }
  }

  async function look(): Promise<void> {
    for (let round = 1; waiting.size > 0 && !ended.aborted; round++) {
      await sleep(clock, backoffMs(backoffs.storing, round, chance), ended)
      await lookOnce().catch(() => undefined) // The store is still down: the next round tries again.
    }
    looking = false
  }

  return {
    add(unheard) {
      if (waiting.size >= limits.abandoned) return
      waiting.set(unheard, clock.elapsed() + unheard.leaseMs)
      if (looking) return
      looking = true
      void look()
    },
  }
}
