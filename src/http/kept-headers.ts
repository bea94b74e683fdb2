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
  const connection = namedIn(headers, 'connection')
  return headers.filter(([given]) => {
    const name = given.toLowerCase()
    const isWanted = kept.has(name) || more.includes(name)
    return isWanted && !isNeverKept(name) && !connection.includes(name)
  })
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

function namedIn(headers: Reply['headers'], list: string): readonly string[] {
  const lines = headers.filter(([name]) => name.toLowerCase() === list)
  return lines.flatMap(([, value]) => value.split(',')).map((name) => name.trim().toLowerCase())
}

export function isNeverKept(name: string): boolean {
  const lower = name.toLowerCase()
  return never.has(lower) || lower.startsWith('proxy-')
}
