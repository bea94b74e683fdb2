import { type KeyStatusOptions, keyStatusOf } from '../http/key-status.js'
import type { Engine } from '../http/port.js'
import { joinedLines } from './joined-lines.js'

/**
 * Answers a caller who asks how its own key stands, wherever the Fetch API is spoken. The key is in the header.
 *
 * @example
 * export const GET = keyStatus(hapax, { scope: (request) => tenantOf(request) })
 */
export function keyStatus<Tx, Given extends Request = Request>(
  engine: Engine<Tx>,
  options: KeyStatusOptions<Given>,
): (request: Given) => Promise<Response> {
  const answer = keyStatusOf(engine, options)
  return async (request) => {
    const { method } = request
    const asked = { method, lines: (name: string) => joinedLines(request.headers.get(name)) }
    const { status, headers, body } = await answer(asked, request)
    const pairs = headers.map(([name, value]): [string, string] => [name, value])
    const isBodiless = method === 'HEAD' || body.byteLength === 0
    return new Response(isBodiless ? null : Uint8Array.from(body), { status, headers: pairs })
  }
}
