import type { IncomingMessage, ServerResponse } from 'node:http'
import { type KeyStatusOptions, keyStatusOf } from '../http/key-status.js'
import type { Engine } from '../http/port.js'
import { send } from './held-response.js'

/**
 * Answers a caller of bare `node:http` who asks how its own key stands. The key is in the header.
 *
 * @example
 * const status = keyStatus(hapax, { scope: tenantOf })
 * createServer((request, response) => status(request, response))
 */
export function keyStatus<Tx>(
  engine: Engine<Tx>,
  options: KeyStatusOptions<IncomingMessage>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const answer = keyStatusOf(engine, options)
  return async (request, response) => {
    const asked = { lines: (name: string) => request.headersDistinct[name] ?? [] }
    send(response, await answer(asked, request))
  }
}
