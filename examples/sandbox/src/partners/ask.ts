import type { CallFailure } from 'hapax'
import { Problem } from '../web/problem.js'

export interface Question {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Sent as the partner's idempotency key. */
  readonly key?: string
  readonly body?: object
  readonly signal?: AbortSignal
}

/** What a partner answers, as far as anybody here reads it. */
export interface Answer {
  readonly [member: string]: unknown
}

/** The partner understood, and said no: nothing was done. */
export class PartnerRefused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** How long a question that moves nothing may take. */
const answerWithinMs = 5_000

/** Asks a partner over HTTP, and gives what it answered below 400. Whatever else comes is thrown. */
export async function ask(partnersUrl: string | undefined, question: Question): Promise<Answer> {
  const { method, path, key, body, signal = AbortSignal.timeout(answerWithinMs) } = question
  if (partnersUrl === undefined) throw unreachable('Start the sandbox with `npm start`, or give HAPAX_PROVIDERS_URL.')
  const headers = {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(key !== undefined && { 'idempotency-key': key }),
  }
  let response: Response
  let answer: Answer
  try {
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    response = await fetch(new URL(path, partnersUrl), { method, headers, signal, redirect: 'error', ...content })
    answer = (await response.json()) as Answer
  } catch (cause) {
    throw unreachable('Send the same request again in a moment: what was done is not done twice.', cause)
  }
  if (response.ok) return answer
  const { code = 'refused', message = `It answered ${response.status}.` } = (answer.error ?? {}) as ErrorBody
  if (response.status < 500) throw new PartnerRefused(response.status, code, message)
  throw unreachable('It failed. Send the same request again in a moment: what was done is not done twice.')
}

interface ErrorBody {
  readonly code?: string
  readonly message?: string
}

/** What an error of `ask` says of the call: a refusal is an answer, a connection that nobody took sent nothing. */
export function meaningOf(error: unknown): CallFailure {
  if (error instanceof PartnerRefused) return 'answered'
  const cause = error instanceof Problem ? error.cause : undefined
  const code = ((cause as Error | undefined)?.cause as NodeJS.ErrnoException | undefined)?.code
  return code === 'ECONNREFUSED' ? 'not_sent' : 'doubt'
}

/** What became of a key, as a lookup has it. */
export async function found<T>(
  partnersUrl: string | undefined,
  path: string,
  resultOf: (answer: Answer) => T,
): Promise<{ readonly landed: true; readonly result: T } | { readonly landed: false }> {
  const { found, answer } = await ask(partnersUrl, { method: 'GET', path })
  return found === true ? { landed: true, result: resultOf(answer as Answer) } : { landed: false }
}

function unreachable(detail: string, cause?: unknown): Problem {
  const title = 'A partner does not answer.'
  return new Problem({ status: 503, code: 'partner_unavailable', title, detail, retryAfter: 1 }, cause)
}
