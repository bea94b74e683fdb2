import type { Reply } from './exchange.js'

/** What a replay carries of the first reply, unless a route names more. Without its encoding a body cannot be read. */
export const kept: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'location',
  'content-location',
  'etag',
  'last-modified',
  'link',
])

/** What never is: another client's cookies and credentials, and what belongs to one connection or one moment. */
export const never: ReadonlySet<string> = new Set([
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

/**
 * The headers to store. A route may name more, in lower case, but none that never is, and none that is of this
 * connection only.
 */
export function keptHeaders(headers: Reply['headers'], more: readonly string[]): Reply['headers'] {
  const wanted = headers.filter(([given]) => {
    const name = given.toLowerCase()
    return (kept.has(name) || more.includes(name)) && !isNeverKept(name)
  })
  // Hardly any answer names headers of its connection.
  if (!headers.some(isOfConnection)) return wanted
  const connection = headers.filter(isOfConnection).flatMap(([, value]) => value.toLowerCase().split(','))
  const named = new Set(connection.map((name) => name.trim()))
  return wanted.filter(([given]) => !named.has(given.toLowerCase()))
}

function isOfConnection([name]: Reply['headers'][number]): boolean {
  return name.length === 'connection'.length && name.toLowerCase() === 'connection'
}

/** The reply without how its bytes were to be sent: by now they are all here, and are sent in one piece. */
export function reframed(reply: Reply): Reply {
  const { status, headers, body } = reply
  return headers.some(isFraming) ? { status, headers: headers.filter((line) => !isFraming(line)), body } : reply
}

function isFraming([name]: Reply['headers'][number]): boolean {
  return framing.has(name.toLowerCase())
}

const framing = new Set(['content-length', 'transfer-encoding', 'trailer'])

export function isNeverKept(name: string): boolean {
  const lower = name.toLowerCase()
  return never.has(lower) || lower.startsWith('proxy-')
}
