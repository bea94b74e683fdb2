import type { Policy } from './policy.js'
import type { Answer } from './record.js'

/**
 * The evidence rule: what happened decides how a run ends, not the status code alone.
 *
 * An open doubt beats any answer the handler gives. Without one, an answer below 500 is an answer, even a refusal;
 * a throw or a 5xx means what the policy says. 408, 425 and 429 tell the caller to come back, so they are no answers.
 */
export type Ending =
  /** Without an answer when the handler succeeded but what it returned cannot be written down: it must not run again. */
  | { readonly kind: 'complete'; readonly answer: Answer | undefined }
  | { readonly kind: 'fail'; readonly errorCode: string }
  | { readonly kind: 'doubt'; readonly errorCode: string }
  | { readonly kind: 'release' }

/** How the handler ended: it answered, it returned what nobody can write down, or it threw. */
export type HandlerResult =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'unwritable'; readonly error: unknown }
  | { readonly kind: 'threw'; readonly error: unknown; readonly answer: Answer }

export function endingOf(result: HandlerResult, openDoubt: string | undefined, policy: Policy): Ending {
  if (openDoubt !== undefined) return { kind: 'doubt', errorCode: openDoubt }
  if (result.kind === 'unwritable') return { kind: 'complete', answer: undefined }
  if (result.kind === 'answered') {
    if (isComeBack(result.answer.status)) return { kind: 'fail', errorCode: `answered_${result.answer.status}` }
    if (result.answer.status < 500) return { kind: 'complete', answer: result.answer }
  }
  const error = result.kind === 'threw' ? result.error : undefined
  const errorCode = result.kind === 'threw' ? errorCodeOf(error) : `answered_${result.answer.status}`
  switch (policy.meaningOf(error)) {
    case 'retry':
      return { kind: 'fail', errorCode }
    case 'unknown':
      return { kind: 'doubt', errorCode }
    case 'store':
      return { kind: 'complete', answer: result.answer }
    case 'release':
      return { kind: 'release' }
  }
}

function isComeBack(status: number): boolean {
  return status === 408 || status === 425 || status === 429
}

/** A short name for operators: the error's own code, else its class. Never its message, which may hold data. */
function errorCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'threw'
  const { code } = error as { code?: unknown }
  return (typeof code === 'string' ? code : error.name).slice(0, 100)
}
