import type { IncomingMessage, ServerResponse } from 'node:http'
import { type KeyStatusOptions, keyStatusOf } from '../http/key-status.js'
import type { Engine } from '../http/port.js'
import { served } from './answered-errors.js'
import { send } from './sent-reply.js'

/**
 * Answers a caller of bare `node:http` who asks how its own key stands. The key is in the header. It never rejects: what
 * `scope` throws is answered with a 500 and logged.
 *
 * @example
 * const status = keyStatus(hapax, { scope: tenantOf })
 * createServer((request, response) => void status(request, response))
 */
export function keyStatus<Tx>(
  engine: Engine<Tx>,
  options: KeyStatusOptions<IncomingMessage>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const answer = keyStatusOf(engine, options)
  const answering = { engine, name: 'keyStatus', profile: options.profile }
  return (request, response) => {
    const asked = { method: request.method ?? '', lines: (name: string) => request.headersDistinct[name] ?? [] }
    return served(async () => send(response, await answer(asked, request)), request, response, answering)
  }
}
