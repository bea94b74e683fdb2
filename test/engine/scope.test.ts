import fc from 'fast-check'
import { type ScopeParts, scopeOf, scopeParts } from 'hapax'
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

  test.each([
    ['is too long', 'x'.repeat(513)],
    ['is no text', '\ud800'],
    ['names a part and does not give it', { tenant: 'acme', principal: undefined as unknown as string }],
    ['names a part that is empty', { tenant: 'acme', principal: '' }],
    ['names a part that is a number', { tenant: 'acme', principal: 7 as unknown as string }],
  ])('that %s is refused', (_, parts) => {
    expect(() => scopeOf(parts)).toThrow(expect.objectContaining({ code: 'scope_invalid' }))
  })

  test('of other parts is another scope, and tells its parts, whatever characters they hold', () => {
    const part = fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom(';', '=', '%', 'a', 'principal', '\n') })
    const parts = fc.record({ tenant: part, principal: part, route: part }, { requiredKeys: ['tenant'] })
    const same = (a: ScopeParts, b: ScopeParts) =>
      a.tenant === b.tenant && a.principal === b.principal && a.route === b.route
    fc.assert(fc.property(parts, parts, (a, b) => (scopeOf(a) === scopeOf(b)) === same(a, b)))
    fc.assert(fc.property(parts, (given) => same(scopeParts(scopeOf(given)), given)))
  })
})
