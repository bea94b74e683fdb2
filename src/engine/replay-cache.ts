import type { Awaitable } from '../kernel/awaitable.js'
import type { Duration } from '../kernel/duration.js'
import type { RecordName, StoredAnswer, StoredRecord } from './record.js'

/** What a replay needs of a completed record. */
export interface KeptReplay
  extends RecordName,
    Pick<StoredRecord, 'generation' | 'operation' | 'fingerprint' | 'answerVersion' | 'expiresAt' | 'trace'> {
  readonly answer: StoredAnswer
}

/** A replay, and for how long it may still be given. */
export interface CachedReplay {
  readonly replay: KeptReplay
  readonly leftMs: number
}

/**
 * The port to a cache of answers, which stands in front of a store and never decides anything: only a record that is
 * completed is ever kept, whoever finds none asks the store, and whoever cannot tell finds none. It may forget at any time,
 * and keeps nothing for longer than it was told.
 */
export interface ReplayCache {
  find(name: RecordName): Awaitable<CachedReplay | undefined>
  /**
   * Keeps it for `forMs` from now on, or for less. A generation that has come later is not overwritten. The store was asked for
   * it `agedMs` ago, and somebody may have changed it since: whoever bounds the age of what it keeps counts from there.
   */
  keep(replay: KeptReplay, forMs: number, agedMs: number): Awaitable<void>
}

export interface ReplayCacheOptions {
  /** How much of its memory this process gives to recent answers. Default 16 MiB; 0 keeps none here. */
  readonly bytes?: number
  /**
   * How old what is kept here may get. What an operator does to a completed record holds everywhere after so long, or after
   * what a shared cache says. Default `'5s'`, at most `'1m'`.
   */
  readonly maxAge?: Duration
  /** What all nodes share, and is asked before the store: `redisReplayCache({ client })` from `hapax/redis`. */
  readonly shared?: ReplayCache
}
