import { type Clock, within } from '../kernel/clock.js'
import { replayCacheBounds } from '../kernel/limits.js'
import { copyOfAnswer } from './copies.js'
import type { RecordName } from './record.js'
import type { CachedReplay, KeptReplay, ReplayCache } from './replay-cache.js'

/** A cache that is asked over a network, as the engine asks it: it answers soon, or is passed over. */
export interface SharedReplays {
  /** Never rejects. Whoever asks for the same while it is asked gets the same answer. */
  find(name: RecordName): Promise<CachedReplay | undefined> | undefined
  /** Nobody waits for it. */
  keep(replay: KeptReplay, forMs: number, agedMs: number): void
}

/**
 * Puts a bound on a shared cache. One that failed, or was silent for some milliseconds, is left alone for a second: the
 * store behind it knows as much, and no request shall pay for both.
 */
export function sharedReplays(cache: ReplayCache, clock: Clock): SharedReplays {
  const asked = new Map<string, Promise<CachedReplay | undefined>>()
  let restsUntil = Number.NEGATIVE_INFINITY
  let writing = 0

  const isResting = () => clock.elapsed() < restsUntil
  const late = () => new Error('The shared cache did not answer in time.')

  /** Whether it throws, rejects or is silent. */
  async function bounded<T>(ask: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await within(clock, replayCacheBounds.answerMs, Promise.resolve(ask()), late)
    } catch {
      restsUntil = clock.elapsed() + replayCacheBounds.restMs
      return undefined
    }
  }

  async function write(replay: KeptReplay, forMs: number, agedMs: number): Promise<void> {
    writing++
    await bounded(() => cache.keep(replay, forMs, agedMs))
    writing--
  }

  return {
    find({ scope, key }) {
      if (isResting()) return undefined
      const address = `${scope}\n${key}`
      const known = asked.get(address)
      if (known !== undefined) return known.then(copied)
      const found = bounded(() => cache.find({ scope, key }))
      asked.set(address, found)
      void found.then(() => asked.delete(address))
      return found
    },
    keep(replay, forMs, agedMs) {
      if (!isResting() && writing < replayCacheBounds.writes) void write(replay, forMs, agedMs)
    },
  }
}

/** Nobody shares his bytes with somebody else. */
function copied(cached: CachedReplay | undefined): CachedReplay | undefined {
  if (cached === undefined) return undefined
  return { ...cached, replay: { ...cached.replay, answer: copyOfAnswer(cached.replay.answer) } }
}
