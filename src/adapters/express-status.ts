import type { NextFunction, Request, Response } from 'express'
import { type KeyStatusOptions, keyStatusOf } from '../http/key-status.js'
import type { Engine } from '../http/port.js'
import { send } from './sent-reply.js'

/**
 * Answers a caller of an Express application who asks how its own key stands. The key is in the header.
 *
 * @example
 * app.get('/idempotency/status', authenticate, keyStatus(hapax, { scope: tenantOf }))
 */
export function keyStatus<Tx>(
  engine: Engine<Tx>,
  options: KeyStatusOptions<Request>,
): (request: Request, response: Response, next: NextFunction) => void {
  const answer = keyStatusOf(engine, options)
  return (request, response, next) => {
    const asked = { lines: (name: string) => request.headersDistinct[name] ?? [] }
    answer(asked, request).then((reply) => send(response, reply), next)
  }
}
