import { backoffMs } from '../kernel/backoff.js'
import { clientBounds } from '../kernel/client-limits.js'
import { sleep } from '../kernel/clock.js'
import { attempted, type Met } from './attempt.js'
import { ClientError, type GaveUp } from './errors.js'
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
export async function answered(operation: Operation, signal: AbortSignal | undefined): Promise<Response> {
  const { request, key, settings } = operation
  const { clock, chance, budget, backoff, deadlineMs, attemptMs } = settings
  const startedAt = clock.elapsed()
  const leftMs = () => deadlineMs - (clock.elapsed() - startedAt)
  budget.earn()
  let isDoubted = false
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    const met = await attempted(request, key, settings, Math.max(1, Math.min(attemptMs, leftMs())), signal)
    // What the server said last stands until it says something else.
    isDoubted = met.verdict.kind === 'doubt' || (isDoubted && met.response === undefined)
    const isOver = isAnswered(met, attempt, key)
    const floorMs = isOver ? undefined : met.response && retryAfterMs(met.response.headers, clock.now())
    const waitMs = (floorMs ?? 0) + backoffMs(backoff, attempt, chance)
    const gaveUp = isOver ? undefined : whyStop(met, attempt, waitMs >= leftMs(), settings)
    const isLast = isOver || gaveUp !== undefined
    tell(settings, {
      key,
      attempt,
      status: met.response?.status,
      error: met.error,
      verdict: met.verdict.kind,
      waitMs: isLast ? undefined : waitMs,
      gaveUp,
    })
    if (isLast) return ended(operation, met, { attempts: attempt, gaveUp, isDoubted, retryAfterMs: floorMs })
    void met.response?.body?.cancel().catch(() => {})
    await sleep(clock, waitMs, signal)
  }
}

/** A conflict without a reason is taken for an answer after a while, and for a request without a key at once. */
function isAnswered({ verdict, response }: Met, attempt: number, key: string | undefined): boolean {
  if (verdict.kind !== 'perhaps') return verdict.kind === 'answer' || verdict.kind === 'refused'
  const isToldToWait = response?.headers.has('retry-after') ?? false
  return key === undefined || (!isToldToWait && attempt >= clientBounds.bareConflicts)
}

/** Asking what becomes of a request that runs is no load to be saved: the budget is for trouble. */
function whyStop({ verdict }: Met, attempt: number, isLate: boolean, settings: Settings): GaveUp | undefined {
  if (isLate) return 'deadline'
  if (attempt >= settings.attempts) return 'attempts'
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
  if (verdict.kind === 'refused')
    throw new ClientError(verdict.code, undefined, { key, attempts, lastResponse: response })
  const isTheirs = gaveUp === undefined || verdict.kind === 'perhaps' || key === undefined
  if (response !== undefined && isTheirs) return response
  const code = isDoubted ? 'outcome_unknown' : 'no_answer'
  throw new ClientError(code, key === undefined ? 'There was no answer in time.' : undefined, {
    key,
    attempts,
    gaveUp,
    lastResponse: response,
    retryAfterMs,
    cause,
    resume: ({ signal } = {}) => answered(operation, signal),
  })
}

/** Whoever listens cannot break an operation. */
function tell({ onAttempt }: Settings, attempt: Attempt): void {
  void (async () => onAttempt?.(attempt))().catch(() => {})
}
