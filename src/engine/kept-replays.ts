import type { Awaitable } from '../kernel/awaitable.js'
import type { Clock } from '../kernel/clock.js'
import { formatDuration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { replayCacheBounds } from '../kernel/limits.js'
import { recentReplays } from './recent-replays.js'
import type { RecordName } from './record.js'
import type { CachedReplay, KeptReplay, ReplayCacheOptions } from './replay-cache.js'
import { type SharedReplays, sharedReplays } from './shared-replays.js'
import type { Grade } from './store.js'

/**
 * The answers that can be given again without asking the store: what this process remembers, and behind it, where there is
 * one, what all nodes share.
 */
export interface KeptReplays {
  /** Never fails. At once, where this process knows, or nobody else is asked. */
  find(name: RecordName): Awaitable<KeptReplay | undefined>
  keep(replay: KeptReplay, sure: Sure): void
}

/** What is known about how long a replay holds. */
export interface Sure {
  /** On the monotonic clock: the record was completed when the store was asked, or later. Its age counts from here. */
  readonly askedAt: number
  /** On the same clock: before this its retention is not over. */
  readonly until: number
}

/** `undefined` when there is none: by default it stands in front of a store that keeps what it acknowledged, and no other. */
export function keptReplaysOf(
  options: ReplayCacheOptions | 'off' | undefined,
  grade: Grade,
  clock: Clock,
): KeptReplays | undefined {
  if (options === 'off' || (options === undefined && grade === 'best-effort')) return undefined
  return keptReplays(checked(options ?? {}), clock)
}

interface Checked extends Pick<ReplayCacheOptions, 'shared'> {
  readonly bytes: number
  readonly maxAgeMs: number
}

function keptReplays({ bytes, maxAgeMs, shared: behind }: Checked, clock: Clock): KeptReplays {
  const recent = recentReplays(clock, bytes)
  const shared: SharedReplays | undefined = behind && sharedReplays(behind, clock)

  /** What all nodes share is remembered here as well. */
  function heard(cached: CachedReplay | undefined): KeptReplay | undefined {
    if (cached === undefined) return undefined
    recent.keep(cached.replay, Math.min(maxAgeMs, cached.leftMs))
    return cached.replay
  }

  return {
    find(name) {
      const known = recent.find(name)
      return known === undefined ? shared?.find(name)?.then(heard) : known.replay
    },
    keep(replay, { askedAt, until }) {
      if (replay.answer.kind === 'kept' && replay.answer.body.byteLength > replayCacheBounds.answerBytes) return
      const now = clock.elapsed()
      const leftMs = until - now
      if (leftMs <= 0) return
      const agedMs = now - askedAt
      recent.keep(replay, Math.min(maxAgeMs - agedMs, leftMs))
      shared?.keep(replay, leftMs, agedMs)
    },
  }
}

function checked({ bytes = replayCacheBounds.bytes, maxAge, shared }: ReplayCacheOptions): Checked {
  const maxAgeMs = maxAge === undefined ? replayCacheBounds.maxAgeMs : parseDuration(maxAge, 'replayCache.maxAge')
  if (!Number.isSafeInteger(bytes) || bytes < 0)
    throw invalid(`replayCache.bytes is ${bytes}, and no whole number from 0`)
  if (maxAgeMs > replayCacheBounds.longestMs)
    throw invalid(`replayCache.maxAge is ${maxAge}, and over ${formatDuration(replayCacheBounds.longestMs)}`)
  if (shared !== undefined && (typeof shared?.find !== 'function' || typeof shared.keep !== 'function'))
    throw invalid('replayCache.shared is no cache')
  return { bytes, maxAgeMs, ...(shared && { shared }) }
}

function invalid(why: string): HapaxError {
  const message = `${why}; give { bytes, maxAge, shared }, like { shared: redisReplayCache({ client }) }, or 'off'.`
  return new HapaxError('policy_invalid', message)
}
