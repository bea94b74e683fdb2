import { limits } from '../kernel/limits.js'
import { Refused } from './refused.js'

/** What an endpoint is given, declared once: it is read by this, and described by it in OpenAPI. */
export type Fields = Readonly<Record<string, Field>>

export interface Field {
  readonly is: 'text' | 'whole' | 'time' | 'word' | 'ids' | 'any'
  readonly means: string
  /** Of a word: those that there are. */
  readonly of?: readonly string[]
  readonly required?: true
  readonly most?: number
}

export type Given = Readonly<Record<string, unknown>>

/** Reads what came; anything else than what is declared is refused, so that a misspelt filter does not show everything. */
export function read(fields: Fields, given: Given): Given {
  for (const name of Object.keys(given))
    if (!Object.hasOwn(fields, name))
      throw new Refused('invalid', `There is no ${name} here; there are ${namesOf(fields)}.`)
  const found: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) {
    const value = given[name]
    if (value === undefined || value === null) {
      if (field.required) throw new Refused('invalid', `${name} is missing: ${field.means}`)
    } else found[name] = understood(name, field, value)
  }
  return found
}

function namesOf(fields: Fields): string {
  return Object.keys(fields).join(', ') || 'none'
}

function understood(name: string, { is, of = [], most }: Field, value: unknown): unknown {
  switch (is) {
    case 'any':
      return value
    case 'text':
      if (typeof value === 'string' && value.trim() !== '' && value.length <= (most ?? 1_000) && !value.includes('\0'))
        return value
      throw new Refused('invalid', `${name} is a text of 1 to ${most ?? 1_000} characters, none of them NUL.`)
    case 'word':
      if (of.includes(String(value))) return value
      throw new Refused('invalid', `${name} is one of ${of.join(', ')}.`)
    case 'whole': {
      const number = typeof value === 'number' ? value : /^\d{1,15}$/.test(String(value)) ? Number(value) : Number.NaN
      if (Number.isSafeInteger(number) && number >= 0 && number <= (most ?? Number.MAX_SAFE_INTEGER)) return number
      throw new Refused('invalid', `${name} is a whole number${most === undefined ? '' : ` up to ${most}`}.`)
    }
    case 'time': {
      const ms = Date.parse(String(value))
      if (ms >= 0 && ms <= limits.latestAt) return ms
      throw new Refused('invalid', `${name} is a time like 2026-02-28T12:00:00Z.`)
    }
    case 'ids':
      if (Array.isArray(value) && value.length > 0 && value.every((id) => Number.isSafeInteger(id) && id > 0))
        return value
      throw new Refused('invalid', `${name} is a list of ids, which are whole numbers.`)
  }
}

/** The same for OpenAPI. */
export function schemaOf({ is, of, means, most }: Field): object {
  switch (is) {
    case 'any':
      return { description: means }
    case 'text':
      return { type: 'string', minLength: 1, maxLength: most ?? 1_000, description: means }
    case 'word':
      return { type: 'string', enum: of, description: means }
    case 'whole':
      return { type: 'integer', minimum: 0, ...(most !== undefined && { maximum: most }), description: means }
    case 'time':
      return { type: 'string', format: 'date-time', description: means }
    case 'ids':
      return { type: 'array', items: { type: 'integer', minimum: 1 }, minItems: 1, description: means }
  }
}
