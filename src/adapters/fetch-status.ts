import { type KeyStatusOptions, keyStatusOf } from '../http/key-status.js'
import type { Engine } from '../http/port.js'
import { joinedLines } from './joined-lines.js'

/**
 * Answers a caller who asks how its own key stands, wherever the Fetch API is spoken. The key is in the header.
 *
 * @example
 * export const GET = keyStatus(hapax, { scope: (request) => tenantOf(request) })
 */
export function keyStatus<Tx>(
  engine: Engine<Tx>,
  options: KeyStatusOptions<Request>,
): (request: Request) => Promise<Response> {
  const answer = keyStatusOf(engine, options)
  return async (request) => {
    const asked = { lines: (name: string) => joinedLines(request.headers.get(name)) }
    const { status, headers, body } = await answer(asked, request)
    const pairs = headers.map(([name, value]): [string, string] => [name, value])
    return new Response(Uint8Array.from(body), { status, headers: pairs })
  }
}
