import type { EffectOutcome, EffectSettlement } from '../engine/effect-store.js'
import { backoffMs } from '../kernel/backoff.js'
import { sleep } from '../kernel/clock.js'
import { backoffs, effectBounds, limits } from '../kernel/limits.js'
import type { Held } from './held.js'
import type { Surroundings } from './surroundings.js'

/** What became of a settlement: it is written, somebody else has the effect, or the store does not answer. */
export type Settled = 'written' | 'lost' | 'unwritten'

interface Waiting {
  readonly settlement: EffectSettlement
  readonly tell: (settled: Settled) => void
}

/**
 * Writes down how effects ended. There is no timer: whatever ended while all lanes were busy goes with the next settlement, so
 * that few pay for a write of their own and nobody waits for company. There are two lanes, so that the store works at one
 * while the disk is waited for by the other.
 */
export function settling<Tx>(
  around: Pick<Surroundings<Tx>, 'store' | 'clock' | 'chance'>,
): (held: Held, outcome: EffectOutcome) => Promise<Settled> {
  const { store, clock, chance } = around
  const waiting: Waiting[] = []
  let busyLanes = 0
  let isGathering = false

  async function settleAll(): Promise<void> {
    busyLanes++
    // What ends in the same moment goes together from the first settlement on.
    isGathering = true
    await Promise.resolve()
    isGathering = false
    while (waiting.length > 0) {
      const batch = waiting.splice(0, limits.batch)
      const written = await settled(batch)
      for (const [index, { tell }] of batch.entries()) tell(written[index] ?? 'unwritten')
    }
    busyLanes--
  }

  /**
   * A store that fails is asked again a few times, the last time for each by itself: one that it cannot write keeps no
   * other from being written. After that the leases run out.
   */
  async function settled(batch: readonly Waiting[]): Promise<readonly Settled[]> {
    for (let attempt = 1; attempt < effectBounds.storeTries; attempt++) {
      const answers = await asked(batch)
      if (answers !== undefined) return answers
      await sleep(clock, backoffMs(backoffs.storing, attempt, chance))
    }
    const alone = await Promise.all(batch.map((one) => asked([one])))
    return alone.map((answer) => answer?.[0] ?? 'unwritten')
  }

  function asked(batch: readonly Waiting[]): Promise<readonly Settled[] | undefined> {
    return store.settle(batch.map(({ settlement }) => settlement)).then(
      (answers) => answers.map((isWritten) => (isWritten ? 'written' : 'lost')),
      () => undefined,
    )
  }

  return (held, outcome) =>
    new Promise((tell) => {
      waiting.push({ settlement: { claim: held.claim, outcome }, tell })
      if (!isGathering && busyLanes < effectBounds.settlingLanes) void settleAll()
    })
}
