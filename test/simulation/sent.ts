/** What a node sends to a client, read as the application means it. */
import type { Reply } from '../../src/http/exchange.js'
import { isStoredFailure } from './application.js'

export interface Sent {
  readonly status: number
  readonly body: string
  /** The header lines of the application, as one text. */
  readonly lines: string
}

/** The same, and whether it is said to be the answer of an earlier one. */
export interface Replied extends Sent {
  readonly isReplay: boolean
}

/** What a client takes for an answer: it asks no more. */
export function isAnswered(sent: Pick<Sent, 'status' | 'body'>): boolean {
  return isForGood(sent) || sent.status === 422
}

/** An answer, or that there is none any more. */
export function isForGood(sent: Pick<Sent, 'status' | 'body'>): boolean {
  return isAnswer(sent) || isWithheld(sent)
}

/** That the request ran, and that its answer could not be kept. */
export function isWithheld({ status, body }: Pick<Sent, 'status' | 'body'>): boolean {
  return status === 409 && body.includes('"code":"answer_withheld"')
}

/** That nobody knows what came of the request. */
export function isUnknown({ status, body }: Pick<Sent, 'status' | 'body'>): boolean {
  return status === 409 && body.includes('"code":"outcome_unknown"')
}

/** What is for good: also a failure, where the application has it stored. */
export function isAnswer({ status, body }: Pick<Sent, 'status' | 'body'>): boolean {
  return status < 400 || status === 402 || (status >= 500 && isStoredFailure(body))
}

/** Says that it is the answer to an earlier one. */
export const replayed = 'Idempotent-Replayed'

/** What a guard says beside the answer: of two answers to one key it may differ. */
const saidBeside: ReadonlySet<string> = new Set([
  replayed,
  'Idempotency-Key-Expires',
  'Idempotency-Key',
  'Cache-Control',
])

/** All others are the application's. */
export function linesOf(headers: Reply['headers']): string {
  let lines = ''
  for (const [name, value] of headers) if (!saidBeside.has(name)) lines += `${name}: ${value}\n`
  return lines
}

/** A character for each byte: two texts are equal where all bytes are, be they text or not. They are read where they are. */
export function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}
