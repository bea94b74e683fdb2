import type { Engine } from '../engine/engine.js'
import { type Limiter, limiterOf, overLimit, type Rate } from '../engine/limiter.js'
import { unknownRetryMs } from '../engine/outcome.js'
import { valueToAnswer } from '../engine/plain.js'
import type { StoredRecord } from '../engine/record.js'
import { scopeOf } from '../engine/scope.js'
import { systemClock } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import { checkedProfile } from './checked-profile.js'
import type { Exchange, Reply } from './exchange.js'
import { exposed } from './exposed.js'
import { checkedKeyRules, parseKeyHeader } from './header.js'
import { notAllowed } from './not-allowed.js'
import { problemReply } from './problem.js'
import type { Profile } from './profile.js'
import { ietf } from './profiles/ietf.js'
import type { RouteOptions } from './route.js'

/** A route where a caller asks how its own key stands. */
export interface KeyStatusOptions<Request> extends Pick<RouteOptions<Request>, 'scope' | 'profile' | 'keyRules'> {
  /** How often one scope may ask: a rate for this process, or a limiter that all nodes share. */
  readonly limit?: Rate | Limiter
}

/**
 * A question: nothing but the header lines of a request. The key stands in no path, since paths stand in logs. A framework
 * that sends only reads here leaves the method out.
 */
type Asked = Pick<Exchange<never>, 'lines'> & Partial<Pick<Exchange<never>, 'method'>>

/**
 * Checks the options once, and gives what answers. A key that is absent, is forgotten or is somebody else's is unknown, in
 * the same bytes, so that nobody can ask for the keys of others.
 *
 * Only the store knows what time it is, and it is not asked: a key past its retention is shown as it was, with the end that
 * it had, until the reaper or a retry meets it. By the clock of this node it might be called unknown while a retry would
 * still be answered.
 */
export function keyStatusOf<Tx, Request>(
  engine: Engine<Tx>,
  options: KeyStatusOptions<Request>,
): (asked: Asked, request: Request) => Promise<Reply> {
  const { scope, profile: published = ietf, keyRules, limit = defaults.statusAsks } = options ?? {}
  if (typeof scope !== 'function') {
    const message = 'keyStatus has no scope: give the function from the authenticated request that its routes have.'
    throw new HapaxError('scope_missing', message)
  }
  const limiter = limiterOf(limit, 'keyStatus.limit')
  const profile = checkedProfile(published, 'keyStatus')
  const rules = checkedKeyRules({ ...profile.key, ...keyRules }, 'keyStatus')

  async function answered(asked: Asked, request: Request): Promise<Reply> {
    const owner = scopeOf(await scope(request))
    const retryAfterMs = await overLimit(limiter, `status ${owner}`, systemClock)
    if (retryAfterMs !== undefined) throw tooOften(retryAfterMs)
    const key = parseKeyHeader(asked.lines(profile.header), rules)
    const record = await engine.find({ scope: owner, key })
    if (record === undefined || record.state === 'expired') throw unknownKey()
    return statusReply(record, systemClock.now())
  }

  return async (asked, request) => {
    if (!reads.has(asked.method ?? 'GET')) return notAllowed(reads)
    const reply = await answered(asked, request).catch((error: unknown) => failed(error, profile))
    return exposed(reply, asked, profile)
  }
}

const reads: ReadonlySet<string> = new Set(['GET', 'HEAD'])

function failed(error: unknown, profile: Profile): Reply {
  if (isHapaxError(error)) return problemReply(error, profile)
  throw error
}

/** What the owner of a key may know. Nothing of what was sent or answered but the status. */
function statusReply(record: StoredRecord, now: number): Reply {
  const { state, operation, attempt, createdAt, completedAt, expiresAt, answer } = record
  const retryAfter = retryAfterSeconds(record, now)
  // Doubt and what still runs never expire, whatever was planned for them.
  const mayExpire = state === 'completed' || state === 'failed_retryable'
  const { status, headers, body } = valueToAnswer({
    state,
    operation,
    attempt,
    created_at: timeText(createdAt),
    completed_at: timeText(completedAt),
    expires_at: mayExpire ? timeText(expiresAt) : undefined,
    status: answer?.status || undefined,
    retry_after: retryAfter,
  })
  const later = retryAfter === undefined ? [] : [['Retry-After', String(retryAfter)] as const]
  return { status, headers: [...headers, ['Cache-Control', 'no-store'], ...later], body }
}

/** When to ask again; `undefined` when nothing will change by itself. */
function retryAfterSeconds({ state, reconcileAfter = 0 }: StoredRecord, now: number): number | undefined {
  switch (state) {
    case 'in_progress':
      return Math.ceil(defaults.inProgressRetryAfterMs / 1_000)
    case 'unknown':
      return Math.ceil(unknownRetryMs(reconcileAfter - now) / 1_000)
    case 'completed':
    case 'failed_retryable':
    case 'expired':
      return undefined
  }
}

function timeText(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

function tooOften(retryAfterMs: number): HapaxError {
  const message = 'You ask too often how your keys stand. To follow a resource, read the resource.'
  return new HapaxError('rate_exceeded', message, { retryAfterMs })
}

function unknownKey(): HapaxError {
  const message = 'No request of yours is known by this key: none was seen, or it is forgotten.'
  return new HapaxError('idempotency_key_unknown', message)
}
