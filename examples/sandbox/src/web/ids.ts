import { randomBytes } from 'node:crypto'

/** An id that nobody else has. Those that are made later sort later, give or take clocks, so that lists have an order. */
export function newId(prefix: string): string {
  return `${prefix}_${Date.now().toString(36).padStart(9, '0')}${randomBytes(10).toString('hex')}`
}

/** What an id may look like: plain characters only, since what else a path or a body may spell, a database may refuse. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value)
}
