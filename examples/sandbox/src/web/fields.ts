import { mostAmount } from '../money/amounts.js'
import { Problem } from './problem.js'

/** What bodies are made of: looked at before anything else is, and never mended. */

export type Fields = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Only what every database keeps as it is: PostgreSQL knows no NUL, and a lone surrogate is not UTF-8. */
export function isText(value: unknown, longest: number): value is string {
  if (typeof value !== 'string' || value.length > longest || value.trim() === '') return false
  return value.isWellFormed() && !/\p{Cc}/u.test(value)
}

const rfc3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** A time in RFC 3339. A day that no calendar has, like the 31st of February, would be read as another: it is none. */
export function timeIn(value: unknown): Date | undefined {
  const [text, local] = (typeof value === 'string' && rfc3339.exec(value)) || []
  if (text === undefined || local === undefined) return undefined
  const onTheClock = new Date(`${local}Z`)
  const exists = !Number.isNaN(onTheClock.getTime()) && onTheClock.toISOString().startsWith(local)
  return exists ? new Date(text) : undefined
}

/** An amount in the smallest unit of its currency. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= mostAmount
}

export const amountRange = `a whole number from 1 to ${mostAmount}`

/** A request that is not what the path asks for. Nothing is reserved, and nothing is stored. */
export function invalid(detail: string): Problem {
  return new Problem({ status: 400, code: 'request_invalid', title: 'The request is not valid.', detail })
}

/** Somebody else's is answered like one that does not exist. */
export function notFound(what: string): Problem {
  const detail = `There is no such ${what}. Check the id; it is only shown to the tenant that it belongs to.`
  return new Problem({ status: 404, code: `${what}_not_found`, title: `There is no such ${what}.`, detail })
}
