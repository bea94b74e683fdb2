import { backoffMs } from '../kernel/backoff.js'
import * as clientBounds from '../kernel/client-limits.js'
import { attempted, type Met } from './attempt.js'
import { pause } from './bounded.js'
import { ClientError, type GaveUp, type Resume } from './errors.js'
import type { Attempt, Settings } from './options.js'
import { retryAfterMs } from './retry-after.js'
import type { SealedRequest } from './sealed-request.js'

/** One thing that shall happen once: its request and its key, for as long as it takes. */
export interface Operation {
  readonly request: SealedRequest
  readonly key: string | undefined
  readonly settings: Settings
}

/** Sends until there is an answer, the caller aborts, or time, attempts or the budget are over. */
export async function answered(
  operation: Operation,
  signal: AbortSignal | undefined,
  startedAt: number = operation.settings.clock.elapsed(),
): Promise<Response> {
  const { request, key, settings } = operation
  const { clock, chance, budget, backoff, deadlineMs, attemptMs } = settings
  const leftMs = () => deadlineMs - (clock.elapsed() - startedAt)
  budget.earn()
  let isDoubted = false
  let toldMs: number | undefined
  let failures = 0
  let conflicts = 0
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    const last = await attempted(request, key, settings, Math.max(1, Math.min(attemptMs, leftMs())), signal)
    const floorMs = last.response && retryAfterMs(last.response.headers, clock.now())
    // What the server said last stands until it says something else.
    if (last.response !== undefined) {
      isDoubted = last.verdict.kind === 'doubt'
      toldMs = floorMs
    }
    if (last.verdict.kind === 'again') failures++
    if (last.verdict.kind === 'perhaps') conflicts++
    const isOver = isAnswered(last, conflicts, floorMs, key)
    const waitMs = (floorMs ?? 0) + backoffMs(backoff, attempt, chance)
    // A server that asks to be asked again is asked until the deadline, unless the caller has counted on so many at most.
    const isTried = settings.attempts === undefined ? failures >= clientBounds.attempts : attempt >= settings.attempts
    const gaveUp = isOver ? undefined : whyStop(last, isTried, waitMs >= leftMs(), settings)
    const isLast = isOver || gaveUp !== undefined
    tell(settings, {
      key,
      attempt,
      status: last.response?.status,
      error: last.error,
      verdict: last.verdict.kind,
      waitMs: isLast ? undefined : waitMs,
      gaveUp,
    })
    if (isLast) return ended(operation, last, { attempts: attempt, gaveUp, isDoubted, retryAfterMs: toldMs })
    void last.response?.body?.cancel().catch(() => {})
    await pause(clock, waitMs, signal)
  }
}

/** A conflict without a reason is taken for an answer after a while, and for a request without a key at once. */
function isAnswered(
  { verdict }: Met,
  conflicts: number,
  floorMs: number | undefined,
  key: string | undefined,
): boolean {
  if (verdict.kind !== 'perhaps') return verdict.kind === 'answer' || verdict.kind === 'refused'
  return key === undefined || (floorMs === undefined && conflicts >= clientBounds.bareConflicts)
}

/** Asking what becomes of a request that runs is no load to be saved: the budget is for trouble. */
function whyStop({ verdict }: Met, isTried: boolean, isLate: boolean, settings: Settings): GaveUp | undefined {
  if (isLate) return 'deadline'
  if (isTried) return 'attempts'
  return verdict.kind !== 'again' || settings.budget.spend() ? undefined : 'budget'
}

interface Ending {
  readonly attempts: number
  readonly gaveUp: GaveUp | undefined
  readonly isDoubted: boolean
  readonly retryAfterMs: number | undefined
}

function ended(
  operation: Operation,
  { verdict, response, error: cause }: Met,
  { attempts, gaveUp, isDoubted, retryAfterMs }: Ending,
): Response {
  const { key } = operation
  const details = { key, attempts, gaveUp, lastResponse: response, retryAfterMs, cause }
  const resume: Resume = ({ signal } = {}) => answered(operation, signal)
  if (verdict.kind === 'refused') {
    if (verdict.code !== 'headers_failed') throw new ClientError(verdict.code, undefined, details)
    throw new ClientError(verdict.code, attempts > 1 ? headersFailedLater : undefined, {
      ...details,
      attempts: attempts - 1,
      resume,
    })
  }
  const isTheirs = gaveUp === undefined || verdict.kind === 'perhaps' || key === undefined
  if (response !== undefined && isTheirs) return response
  const code = isDoubted ? 'outcome_unknown' : 'no_answer'
  throw new ClientError(code, key === undefined ? 'There was no answer in time.' : undefined, { ...details, resume })
}

const headersFailedLater =
  'headers() failed, but an earlier attempt was sent, so the request may have run. Call resume() later; make no new key for it.'

/** Whoever listens cannot break an operation. */
function tell({ onAttempt }: Settings, attempt: Attempt): void {
  void (async () => onAttempt?.(attempt))().catch(() => {})
}
