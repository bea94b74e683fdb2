/**
 * Where the scopes of a tenant begin and end that bind tighter than the tenant, in the order of their bytes. Escaping
 * leaves the semicolon to separate, and nothing else stands between it and the next character.
 */
export function scopesWithin(tenant: string): readonly [from: string, to: string] {
  return [`${tenant};`, `${tenant}<`]
}
