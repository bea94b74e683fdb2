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
 * The one way to make a Scope. Parts are escaped and named, so that no choice of names makes two scopes one.
 *
 * @example
 * scopeOf('acme')                                   // acme
 * scopeOf({ tenant: 'acme', principal: 'usr_7' })   // acme;principal=usr_7
 */
export function scopeOf(parts: string | ScopeParts | undefined): Scope {
  const { tenant, ...rest }: Partial<ScopeParts> = typeof parts === 'string' ? { tenant: parts } : (parts ?? {})
  if (typeof tenant !== 'string' || tenant === '') {
    throw new HapaxError(
      'scope_missing',
      'Give a scope: the tenant of the authenticated caller, never a value from the request body.',
    )
  }
  let text = escaped(tenant)
  for (const dimension of dimensions) {
    const value = rest[dimension]
    if (value !== undefined) text += `;${dimension}=${escaped(value)}`
  }
  if (text.length > limits.scopeLength) {
    throw new HapaxError(
      'scope_missing',
      `The scope takes ${text.length} characters; at most ${limits.scopeLength} are kept. Use ids, not names.`,
    )
  }
  return text as Scope
}

function escaped(part: string): string {
  if (!part.isWellFormed())
    throw new HapaxError('scope_missing', 'A part of the scope holds a lone surrogate; use an id.')
  return encodeURIComponent(part)
}
