import type { Reply } from './exchange.js'

/** What a replay carries of the first reply, unless a route names more. Without its encoding a body cannot be read. */
const kept = new Set([
  'content-type',
  'content-encoding',
  'location',
  'content-location',
  'etag',
  'last-modified',
  'link',
])

/** What never is: another client's cookies and credentials, and what belongs to one connection or one moment. */
const never = new Set([
  'set-cookie',
  'authorization',
  'www-authenticate',
  'proxy-authenticate',
  'proxy-authorization',
  'authentication-info',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'date',
])

/** The headers to store. A route may name more, but none that never is. */
export function keptHeaders(headers: Reply['headers'], more: readonly string[]): Reply['headers'] {
  return headers.filter(([given]) => {
    const name = given.toLowerCase()
    return (kept.has(name) || more.some((other) => other.toLowerCase() === name)) && !never.has(name)
  })
}

export function isNeverKept(name: string): boolean {
  return never.has(name.toLowerCase())
}
