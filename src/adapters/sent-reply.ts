import type { ServerResponse } from 'node:http'
import { isAdded, type Reply } from '../http/port.js'

/** Sends a reply. Headers that others have set before stay where the reply has none of its own; lists are joined. */
export function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.statusCode = status
  for (const [name] of headers) if (!isAdded(name)) response.removeHeader(name)
  for (const [name, value] of headers) {
    const said = isAdded(name) ? missing(value, response.getHeader(name)) : value
    if (said !== undefined) response.appendHeader(name, said)
  }
  response.end(body)
}

/** Sends a reply that was captured with everything that others had set before: what it does not have was taken away. */
export function sendWhole(response: ServerResponse, reply: Reply): void {
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  send(response, reply)
}

/** What a list adds to the lines that are there; `undefined` when that is nothing. */
function missing(value: string, there: ReturnType<ServerResponse['getHeader']>): string | undefined {
  if (there === undefined) return value
  const known = new Set(namesIn([there].flat().join(',')).map((name) => name.toLowerCase()))
  const added = namesIn(value).filter((name) => !known.has(name.toLowerCase()))
  return added.length === 0 ? undefined : added.join(', ')
}

function namesIn(list: string): string[] {
  return list.split(',').map((name) => name.trim())
}
