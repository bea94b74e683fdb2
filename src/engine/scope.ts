import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'

declare const brand: unique symbol

/** Whose key it is. Two scopes never share a record, whatever keys their callers choose. */
export type Scope = string & { readonly [brand]: 'Scope' }

/** What a scope is made of: always a tenant from the authenticated caller, and more where the key must bind tighter. */
export interface ScopeParts {
  readonly tenant: string
  readonly principal?: string
  readonly credential?: string
  readonly route?: string
}

const dimensions = ['principal', 'credential', 'route'] as const

/**
 * The one way to make a Scope. Parts are escaped and named, so that no choice of names makes two scopes one. Give ids:
 * a scope stands in rows and events, so it must hold no secret, not even for `credential`.
 *
 * @example
 * scopeOf('acme')                                   // acme
 * scopeOf({ tenant: 'acme', principal: 'usr_7' })   // acme;principal=usr_7
 */
export function scopeOf(parts: string | ScopeParts | undefined): Scope {
  const given: Partial<ScopeParts> = typeof parts === 'string' ? { tenant: parts } : (parts ?? {})
  if (given.tenant === undefined || given.tenant === '') {
    const message = 'Give a scope: the tenant of the authenticated caller, never a value from the request body.'
    throw new HapaxError('scope_missing', message)
  }
  let text = escaped(given, 'tenant')
  for (const dimension of dimensions) {
    // A part that is named but empty would silently widen the scope to everybody who lacks it.
    if (dimension in given) text += `;${dimension}=${escaped(given, dimension)}`
  }
  if (text.length <= limits.scopeLength) return text as Scope
  throw invalid(`it takes ${text.length} characters, and at most ${limits.scopeLength} are kept`)
}

/**
 * What a scope is made of, as it was given to `scopeOf`.
 *
 * @example
 * const { tenant } = scopeParts(work.scope)
 */
export function scopeParts(scope: Scope): ScopeParts {
  const [tenant = '', ...tighter] = scope.split(';')
  const named = tighter.map((part) => part.split('=').map(decodeURIComponent) as [string, string])
  return { tenant: decodeURIComponent(tenant), ...Object.fromEntries(named) }
}

function escaped(parts: Partial<ScopeParts>, name: keyof ScopeParts): string {
  const part: unknown = parts[name]
  if (typeof part !== 'string' || part === '') throw invalid(`its ${name} is no text`)
  if (plain.test(part)) return part
  if (!part.isWellFormed()) throw invalid(`its ${name} holds a lone surrogate`)
  return encodeURIComponent(part)
}

/** What would be escaped to itself. */
const plain = /^[\w.~-]+$/

function invalid(why: string): HapaxError {
  return new HapaxError('scope_invalid', `The scope cannot be used: ${why}. Give ids, like { tenant, principal }.`)
}
