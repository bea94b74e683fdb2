import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { Held } from './held.js'
import type { Surroundings } from './surroundings.js'

/** The leases of a worker. */
export interface Holding {
  size(): number
  add(held: Held): void
  remove(held: Held): void
  /** Renews one lease now. `false`: it is lost, or nobody knows. */
  renew(held: Held): Promise<boolean>
  /** Ends all calls that still run: nobody waits for them any more. */
  abandon(): void
}

/**
 * Renews all leases of a worker together, three times per lease, by one timer that runs only while something is held.
 * Quick effects end long before.
 */
export function holding<Tx>({ store, clock }: Pick<Surroundings<Tx>, 'store' | 'clock'>, leaseMs: number): Holding {
  const all = new Set<Held>()
  let cancel: (() => void) | undefined
  let isBeating = false

  function schedule(): void {
    if (!isBeating) cancel ??= clock.after(leaseMs / 3, () => void beat(), 'weakly')
  }

  async function beat(): Promise<void> {
    isBeating = true
    cancel = undefined
    const soonAt = clock.elapsed() + (leaseMs * 2) / 3
    const due = [...all].filter((held) => held.endsAt <= soonAt)
    for (let from = 0; from < due.length; from += limits.batch) await renewAll(due.slice(from, from + limits.batch))
    isBeating = false
    if (all.size > 0) schedule()
  }

  async function renewAll(due: readonly Held[]): Promise<void> {
    const sentAt = clock.elapsed()
    const answers = await store
      .renew(
        due.map(({ claim }) => claim),
        leaseMs,
      )
      .catch(() => undefined)
    // A store that fails leaves the claims as they were.
    if (answers === undefined) return
    for (const [index, held] of due.entries()) {
      if (answers[index] === true) held.endsAt = Math.max(held.endsAt, sentAt + leaseMs)
      else if (all.has(held)) lose(held)
    }
  }

  function lose(held: Held): void {
    held.isLost = true
    held.stopping.stop(new HapaxError('claim_lost', 'Another worker has this effect now.'))
  }

  return {
    size: () => all.size,
    add(held) {
      all.add(held)
      schedule()
    },
    remove(held) {
      all.delete(held)
      if (all.size > 0) return
      cancel?.()
      cancel = undefined
    },
    async renew(held) {
      const before = held.endsAt
      await renewAll([held])
      return !held.isLost && held.endsAt > before
    },
    abandon() {
      for (const { stopping } of all) stopping.stop(new HapaxError('engine_closed', 'The worker shuts down.'))
    },
  }
}
