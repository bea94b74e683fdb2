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

/** An amount in the smallest unit of its currency. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

export const mostAmount = Number.MAX_SAFE_INTEGER

const currencies = ['KRW', 'USD', 'EUR']

/** In capital or small letters, and kept as it was sent. */
export function isCurrency(value: unknown): value is string {
  return typeof value === 'string' && currencies.includes(value.toUpperCase()) && /^([A-Z]+|[a-z]+)$/.test(value)
}

export const knownCurrencies = currencies.join(', ')

/** A body that is not what the path asks for. Nothing is reserved, and nothing is stored. */
export function invalid(what: string, detail: string): Problem {
  return new Problem({ status: 400, code: 'request_invalid', title: `The request is not a valid ${what}.`, detail })
}

/** Somebody else's is answered like one that does not exist. */
export function notFound(what: string): Problem {
  return new Problem({
    status: 404,
    code: `${what}_not_found`,
    title: `There is no such ${what}.`,
    detail: `Check the id; a ${what} is only shown to the tenant that created it.`,
  })
}
