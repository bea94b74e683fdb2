import { mostAmount } from '../money/amounts.js'

/** What each system says of its routes, in a file beside them. `/openapi.json` is made of it, and of what guards them. */
export interface System {
  readonly name: string
  readonly about: string
  readonly asks: Asks
  /** The shape of what goes wrong: one of the schemas below, or of those that all have in common. */
  readonly errors: ErrorShape
  readonly schemas?: Readonly<Record<string, Schema>>
  /** By method and path, as in `GET /rides/{id}`. */
  readonly routes: Readonly<Record<string, Described>>
}

/** Who may ask: a token, a token as the name of `Basic` too, or anybody. */
export type Asks = 'token' | 'token or basic' | 'anybody'

export type ErrorShape = 'Problem' | 'StripeError' | 'MarketplaceError' | 'ProviderError'

export interface Described {
  readonly summary: string
  /** The name under which Hapax publishes it, where it is guarded. */
  readonly guardedAs?: string
  /** Whether `limit` and `after` go through what there is. */
  readonly paged?: true
  /** Beside those, each with what it is for. */
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
  /** By status: what it means, and its body. */
  readonly answers: Readonly<Record<number, Answer>>
  /** What may go wrong here and not everywhere, by status. */
  readonly refusals?: Readonly<Record<number, string>>
  /** Where it is asked by others than the rest of its system. */
  readonly asks?: Asks
}

export interface Body {
  readonly schema: Schema
  readonly mediaTypes?: readonly string[]
  /** Whether it may be left out. */
  readonly optional?: true
  readonly example?: unknown
}

export interface Answer {
  readonly means: string
  readonly schema: Schema
  readonly mediaType?: string
  /** Whether `Location` says where it is. */
  readonly located?: true
}

/** JSON Schema of 2020-12, as OpenAPI 3.1 has it. */
export type Schema = Readonly<Record<string, unknown>>

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** All members are required, but for those named. */
export function object(members: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(members).filter((name) => !optional.includes(name))
  return { type: 'object', properties: members, ...(required.length > 0 && { required }) }
}

export function array(items: Schema): Schema {
  return { type: 'array', items }
}

export function oneOf(...values: readonly string[]): Schema {
  return { type: 'string', enum: values }
}

export function text(maxLength: number): Schema {
  return { type: 'string', minLength: 1, maxLength }
}

export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] }
}

/** A page of a list: what there is under its name, and where to go on. */
export function page(name: string, item: Schema): Schema {
  const next = { type: 'string', description: 'What to send as `after` to go on; absent on the last page.' }
  return object({ [name]: array(item), next }, ['next'])
}

export const id: Schema = { type: 'string', pattern: '^[\\w-]{1,64}$' }
export const time: Schema = { type: 'string', format: 'date-time' }
/** In the smallest unit of its currency. */
export const cents: Schema = { type: 'integer', minimum: 1, maximum: mostAmount }
export const free: Schema = { type: 'object' }
