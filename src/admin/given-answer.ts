import type { Answer } from '../engine/record.js'
import { isNeverKept } from '../http/kept-headers.js'
import { sendable } from '../http/sendable.js'
import { isHapaxError } from '../kernel/errors.js'
import { Refused } from './refused.js'

/** An answer as people write it, in a request or a file: a body that is a text is sent as it is, any other is JSON. */
export function answerIn(given: unknown): Answer {
  if (!isObject(given) || Object.keys(given).some((name) => !['status', 'headers', 'body'].includes(name)))
    throw new Refused('invalid', shape)
  const { status, headers = {}, body } = given
  if (typeof status !== 'number') throw new Refused('invalid', shape)
  const lines = linesIn(headers)
  if (body === undefined) return sentAnswer({ status, headers: lines, body: new Uint8Array() })
  const hasType = lines.some(([name]) => name.toLowerCase() === 'content-type')
  const isText = typeof body === 'string' && hasType
  const bytes = new TextEncoder().encode(isText ? body : JSON.stringify(body))
  const typed = hasType ? lines : [['content-type', 'application/json'] as const, ...lines]
  return sentAnswer({ status, headers: typed, body: bytes })
}

const shape = 'completed needs an answer: { status, headers, body }, with a status from 200 to 599.'

function linesIn(headers: unknown): Answer['headers'] {
  if (!isObject(headers)) throw new Refused('invalid', 'The headers of the answer are an object of names and texts.')
  return Object.entries(headers).map(([name, value]) => {
    if (typeof value === 'string' || typeof value === 'number') return [name, String(value)] as const
    throw new Refused('invalid', `The header ${JSON.stringify(name)} of the answer is no text.`)
  })
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The answer, if it can be sent: one that is stored and cannot be would be withheld from every retry, for good. */
export function sentAnswer(answer: Answer): Answer {
  const { status, headers, body } = answer
  try {
    sendable(answer)
  } catch (error) {
    throw isHapaxError(error) ? new Refused('invalid', error.message) : error
  }
  if (status > 599) throw new Refused('invalid', shape)
  // How its bytes are sent is said anew each time, and a cookie is its first caller's.
  const passing = headers.find(([name]) => isNeverKept(name))
  if (passing !== undefined) throw new Refused('invalid', `The header ${passing[0]} is never kept: leave it out.`)
  if (bodiless.has(status) && body.byteLength > 0)
    throw new Refused('invalid', `The answer cannot be sent: one with the status ${status} has no body.`)
  return answer
}

const bodiless: ReadonlySet<number> = new Set([204, 205, 304])
