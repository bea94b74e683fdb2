import type { Fingerprint } from '../../engine/fingerprint/fingerprint.js'
import type { RecordName } from '../../engine/record.js'
import type { KeptReplay, ReplayCache } from '../../engine/replay-cache.js'
import { type Clock, systemClock } from '../../kernel/clock.js'
import { type Duration, formatDuration, parseDuration } from '../../kernel/duration.js'
import { HapaxError } from '../../kernel/errors.js'
import { replayCacheBounds } from '../../kernel/limits.js'
import type { RedisClient } from './client.js'
import { connectionOf, type Given } from './connection.js'
import { keysOf } from './keys.js'
import { answerFields, answerOf } from './record-fields.js'
import { type Fields, fieldsOf, listOf, numberOf, type Reply, reader } from './reply.js'
import { findReplay } from './scripts/find-replay.js'
import { keepReplay } from './scripts/keep-replay.js'

export interface RedisReplayCacheOptions {
  /** A client of `ioredis` or of `redis`, or a cluster of either. It stays yours: nobody closes it. */
  readonly client: RedisClient
  /** What the names of all keys begin with. Default `'hapax'`. */
  readonly prefix?: string
  /** How old an answer may get here. What an operator does to a completed record holds everywhere after so long. Default and most `'1m'`. */
  readonly maxAge?: Duration
  /** For how long ago Redis was heard. */
  readonly clock?: Clock
}

/**
 * Recent answers that all nodes share, in front of a store that commits. It never decides anything: only answers that the
 * store has acknowledged are kept, whoever finds none asks the store, and so does whoever finds Redis slow or gone. This
 * server may evict what it likes.
 *
 * @example
 * const hapax = engine({ store: postgresStore({ pool }), replayCache: { shared: redisReplayCache({ client }) } })
 */
export function redisReplayCache(options: RedisReplayCacheOptions): ReplayCache {
  const { client, prefix = 'hapax', clock = systemClock } = options
  const maxAgeMs = maxAgeOf(options)
  const connection = connectionOf(client)
  const { replay: keyOf } = keysOf(prefix)

  /**
   * By how much the clock of Redis is ahead of the monotonic one here, and not less. What is to be kept until a time is not
   * kept once that has passed, however long a client without a connection has held the command back.
   */
  let aheadMs: number | undefined
  const heard = (now: Reply | undefined) => {
    aheadMs = numberOf(now) - clock.elapsed()
    return aheadMs
  }

  async function found(name: RecordName) {
    const [now, leftMs, replay] = listOf(await connection.run(findReplay, [keyOf(name)]))
    return { aheadMs: heard(now), leftMs: numberOf(leftMs), fields: fieldsOf(replay) }
  }

  return {
    async find(name) {
      const { leftMs, fields } = await found(name)
      const replay = replayOf(fields)
      if (replay === undefined || leftMs <= 0 || replay.scope !== name.scope || replay.key !== name.key)
        return undefined
      return { replay, leftMs }
    },
    async keep(replay, forMs, agedMs) {
      const until = clock.elapsed() + Math.min(forMs, maxAgeMs - agedMs)
      const ahead = aheadMs ?? (await found(replay)).aheadMs
      const given = { until: Math.floor(until + ahead), generation: replay.generation, ...sentOf(replay) }
      heard(await connection.run(keepReplay, [keyOf(replay)], given))
    },
  }
}

function maxAgeOf({ maxAge }: RedisReplayCacheOptions): number {
  const { longestMs } = replayCacheBounds
  const maxAgeMs = maxAge === undefined ? longestMs : parseDuration(maxAge, 'maxAge')
  if (maxAgeMs <= longestMs) return maxAgeMs
  throw new HapaxError('policy_invalid', `maxAge is ${maxAge}, and over ${formatDuration(longestMs)}.`)
}

function sentOf({ answer, answerVersion, ...replay }: KeptReplay): Given {
  const { scope, key, generation, operation, fingerprint, expiresAt, trace } = replay
  const { location: _, ...kept } = answerFields({ answer, answerVersion: answerVersion ?? 0 })
  const fields = { scope, key, generation, operation, fingerprint, expiresAt, trace, ...kept, answerVersion }
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [`=${name}`, value]))
}

function replayOf(fields: Fields): KeptReplay | undefined {
  const answer = answerOf(fields)
  if (answer === undefined) return undefined
  const { text, number, textIf, numberIf } = reader(fields)
  return {
    scope: text('scope') as RecordName['scope'],
    key: text('key') as RecordName['key'],
    generation: number('generation'),
    operation: text('operation'),
    fingerprint: text('fingerprint') as Fingerprint,
    answerVersion: numberIf('answerVersion'),
    expiresAt: numberIf('expiresAt'),
    trace: textIf('trace'),
    answer,
  }
}
