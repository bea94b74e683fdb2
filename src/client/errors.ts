/**
 * The errors of the client, each with what to do. They stand apart from the catalogue of the server, which is too long for
 * a page. Recognise an error by its code, never by its message or its class.
 */
export const clientErrors = {
  options_invalid: 'The client cannot use an option.',
  key_refused: 'The key cannot be sent. Use a UUID made once per operation, or let the client make it.',
  key_reused: 'The key was first used with another request. Make a new key for a new request.',
  key_rejected: 'The server does not take the key, or wants one and saw none. Nothing ran.',
  key_expired: 'The key is older than its answer is kept, so the request may have run. Look at the resource first.',
  body_not_replayable: 'A stream can be sent only once. Read it first.',
  headers_failed: 'headers() failed, so nothing was sent. Call resume() later.',
  answer_withheld: 'The request ran, but its answer was not kept. Read the resource; make no new key for it.',
  outcome_unknown: 'The server does not know yet whether the request ran. Call resume() later; make no new key for it.',
  no_answer: 'There was no answer in time, so the request may have run. Call resume() later; make no new key for it.',
  queue_full: 'The queue takes no more. Nothing was sent.',
} as const

export type ClientErrorCode = keyof typeof clientErrors

/** Why the client stopped to try: time, attempts or the retry budget ran out. */
export type GaveUp = 'deadline' | 'attempts' | 'budget'

/** Goes on with an operation that had no answer yet: same key, same bytes, a deadline of its own. */
export type Resume = (options?: ResumeOptions) => Promise<Response>

export interface ResumeOptions {
  readonly signal?: AbortSignal
}

export interface ClientErrorDetails {
  readonly key?: string | undefined
  readonly attempts?: number
  readonly gaveUp?: GaveUp | undefined
  readonly lastResponse?: Response | undefined
  readonly retryAfterMs?: number | undefined
  readonly resume?: Resume
  readonly cause?: unknown
}

/**
 * Every error that the client throws on purpose.
 *
 * @example
 * try { await send('/payments', { method: 'POST', body }) }
 * catch (error) { if (isClientError(error, 'outcome_unknown')) tellThePerson('We are finding out.', error.resume) }
 */
export class ClientError extends Error {
  override readonly name = 'HapaxClientError'
  readonly code: ClientErrorCode
  /** Attempts that were made; none where the client refused to send. */
  readonly attempts: number
  readonly gaveUp: GaveUp | undefined
  /** When the server wants to be asked again, in milliseconds: what it said last, though an attempt after that had no reply. */
  readonly retryAfterMs: number | undefined
  /**
   * The last response, with a body that can still be read, where there was one. Not `response`: what axios finds under that
   * name it takes for its own.
   */
  readonly lastResponse: Response | undefined
  readonly resume: Resume | undefined
  readonly #key: string | undefined

  constructor(code: ClientErrorCode, message: string = clientErrors[code], details: ClientErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : details)
    this.code = code
    this.attempts = details.attempts ?? 0
    this.gaveUp = details.gaveUp
    this.retryAfterMs = details.retryAfterMs
    this.lastResponse = details.lastResponse
    this.resume = details.resume
    this.#key = details.key
  }

  /** Not a property of its own, so that it ends up in no log: keys belong in none. */
  get key(): string | undefined {
    return this.#key
  }
}

/**
 * Recognises by code, so that an error from another copy of the library is recognised too. What axios makes of one has its
 * name and code, and nothing to go on with: look at its `cause`.
 */
export function isClientError(error: unknown, code?: ClientErrorCode): error is ClientError {
  if (!(error instanceof Error) || error.name !== 'HapaxClientError' || !('attempts' in error)) return false
  const found = String((error as { code?: unknown }).code)
  return found in clientErrors && (code ?? found) === found
}
