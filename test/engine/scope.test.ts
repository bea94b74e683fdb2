import fc from 'fast-check'
import { type ScopeParts, scopeOf } from 'hapax'
import { describe, expect, test } from 'vitest'

describe('a scope', () => {
  test('is the tenant, and what binds the key tighter', () => {
    expect(scopeOf('acme')).toBe('acme')
    expect(scopeOf({ tenant: 'acme', principal: 'usr_7', route: 'POST /pay' })).toBe(
      'acme;principal=usr_7;route=POST%20%2Fpay',
    )
  })

  test.each([undefined, '', { tenant: '' }, { principal: 'usr_7' } as unknown as ScopeParts])(
    'is never absent: %j is refused',
    (parts) => {
      expect(() => scopeOf(parts)).toThrow(expect.objectContaining({ code: 'scope_missing' }))
    },
  )

  test('that is too long, or no text, is refused', () => {
    expect(() => scopeOf('x'.repeat(513))).toThrow(/512/)
    expect(() => scopeOf('\ud800')).toThrow(/surrogate/)
  })

  test('of other parts is another scope, whatever characters the parts hold', () => {
    const part = fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom(';', '=', '%', 'a', 'principal', '\n') })
    const parts = fc.record({ tenant: part, principal: part, route: part }, { requiredKeys: ['tenant'] })
    const same = (a: ScopeParts, b: ScopeParts) =>
      a.tenant === b.tenant && a.principal === b.principal && a.route === b.route
    fc.assert(fc.property(parts, parts, (a, b) => (scopeOf(a) === scopeOf(b)) === same(a, b)))
  })
})
