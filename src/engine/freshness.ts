import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { FingerprintSource } from './fingerprint/source.js'
import { timeInKey } from './key-time.js'

/**
 * How a request says when it was first made, so that one which comes after its answer was forgotten is not taken for
 * a new one.
 * - `key`: by the time in its key, if that is a UUIDv7 or a ULID. Other keys say nothing and are let in; ask for a format
 *   that has a time where all must say it.
 * - `header`: by a header like `repeatability-first-sent`, as an HTTP date or in RFC 3339. Every request must carry it.
 */
export type Freshness = { readonly by: 'key' } | { readonly by: 'header'; readonly name: string }

/** A request that may say when it was made. */
interface Dated {
  readonly key: string
  readonly source: FingerprintSource
  readonly policy: { readonly freshness: Freshness | undefined; readonly retentionMs: number | undefined }
}

/** Why a request is refused if its key is new; `undefined` when it is as fresh as its policy asks. */
export function staleness({ key, policy, source }: Dated, now: number): HapaxError | undefined {
  const { freshness, retentionMs } = policy
  if (freshness === undefined || retentionMs === undefined) return undefined
  const madeAt = freshness.by === 'key' ? timeInKey(key) : timeOf(source.header?.(freshness.name.toLowerCase()))
  if (madeAt === undefined) return freshness.by === 'key' ? undefined : unsaid(freshness.name)
  const ageMs = now - madeAt
  // By as much as a date may be ahead, a request that is dated ahead would come back after it was forgotten.
  if (ageMs >= retentionMs - limits.dateAheadMs)
    return stale('It was first made longer ago than answers are kept, and may have run then.')
  if (ageMs < -limits.dateAheadMs) return stale('It says that it was first made in the future; set the clock right.')
  return undefined
}

const rfc3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** A date that no calendar has, like the 31st of February, would be read as another: it is not what that one is written as. */
function timeOf(text = ''): number | undefined {
  const local = rfc3339.exec(text)?.[1]
  if (local !== undefined) return dateOf(`${local}Z`)?.toISOString().startsWith(local) ? Date.parse(text) : undefined
  const date = dateOf(text)
  return date?.toUTCString() === text ? date.getTime() : undefined
}

function dateOf(text: string): Date | undefined {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? undefined : date
}

function unsaid(header: string): HapaxError {
  const message = `Send ${header} with the time of the first attempt, like "Tue, 15 Nov 2022 12:45:26 GMT".`
  return new HapaxError('first_sent_invalid', message)
}

function stale(why: string): HapaxError {
  const message = `${why} Find out whether it took effect; only then send it under a new key.`
  return new HapaxError('request_not_fresh', message)
}
