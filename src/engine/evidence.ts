import type { HapaxError } from '../kernel/errors.js'
import type { Guarded } from './guarded.js'
import { codeOf } from './name.js'
import type { FailureKind, Policy } from './policy.js'
import type { Answer } from './record.js'

/**
 * Why a run may not end as its handler says: nobody knows what happened; a call must be made again; or a call is over, and
 * only the record knows whether that was written down.
 */
export interface Unsound {
  readonly kind: 'doubt' | 'retry' | 'unsure'
  readonly errorCode: string
}

/**
 * The evidence rule: what happened decides how a run ends, not the status code alone.
 *
 * An open doubt beats any answer the handler gives, and so does a call that is to be made again. Without either, an answer below 500 is an answer, even a refusal;
 * a throw or a 5xx means what the policy says. 408, 425 and 429 tell the caller to come back, so they are no answers.
 */
export type Ending =
  /** Without an answer when the handler succeeded but what it returned cannot be written down: it must not run again. */
  | { readonly kind: 'complete'; readonly answer: Answer | undefined }
  | { readonly kind: 'fail'; readonly errorCode: string }
  | { readonly kind: 'doubt'; readonly errorCode: string }
  | { readonly kind: 'release' }
  /** Left as it is on record, and to its lease: a doubt that is written down might be about a call whose end is on record. */
  | { readonly kind: 'leave' }

/** How the handler ended: it answered, it returned what nobody can write down, or it threw. */
export type HandlerResult =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'unwritable'; readonly error: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  /** It did not run: what an earlier attempt left behind cannot be read here. */
  | { readonly kind: 'unresumable'; readonly error: HapaxError }

export function endingOf<Tx>(result: HandlerResult, unsound: Unsound | undefined, guarded: Guarded<Tx>): Ending {
  if (unsound !== undefined) return endings[unsound.kind](unsound.errorCode)
  switch (result.kind) {
    case 'unresumable':
      return { kind: 'fail', errorCode: result.error.code }
    case 'unwritable':
      return { kind: 'complete', answer: undefined }
    case 'threw':
      return meant(guarded.policy, { kind: 'threw', failure: result.error }, codeOf(result.error), () =>
        guarded.errorToAnswer(result.error),
      )
    case 'answered': {
      const { answer } = result
      const errorCode = `answered_${answer.status}`
      if (isComeBack(answer.status)) return { kind: 'fail', errorCode }
      if (answer.status < 500) return { kind: 'complete', answer }
      return meant(guarded.policy, { kind: 'answered', failure: answer }, errorCode, () => answer)
    }
  }
}

const endings: Readonly<Record<Unsound['kind'], (errorCode: string) => Ending>> = {
  doubt: (errorCode) => ({ kind: 'doubt', errorCode }),
  retry: (errorCode) => ({ kind: 'fail', errorCode }),
  unsure: () => ({ kind: 'leave' }),
}

interface Failed {
  readonly kind: FailureKind
  readonly failure: unknown
}

/** What the policy makes of a failure. A policy that cannot say leaves doubt: nothing may run again on a guess. */
function meant(policy: Policy, failed: Failed, errorCode: string, answer: () => Answer): Ending {
  try {
    switch (policy.meaningOf(failed.failure, failed.kind)) {
      case 'retry':
        return { kind: 'fail', errorCode }
      case 'store':
        return { kind: 'complete', answer: answer() }
      case 'release':
        return { kind: 'release' }
      case 'unknown':
        return { kind: 'doubt', errorCode }
    }
  } catch {
    // Falls through to doubt.
  }
  return { kind: 'doubt', errorCode }
}

function isComeBack(status: number): boolean {
  return status === 408 || status === 425 || status === 429
}
