import { HapaxError } from '../kernel/errors.js'
import type { Reply } from './exchange.js'

/**
 * Refuses an answer that is a stream of events, as soon as its head is known: it need not ever end, so it can neither be
 * kept nor held back. Other streams are collected until they end.
 */
export function refuseEventStream(headers: Reply['headers']): void {
  const isEvents = headers.some(([name, value]) => name.toLowerCase() === 'content-type' && eventStream.test(value))
  if (!isEvents) return
  const message =
    'A guarded route cannot answer with a stream of events. Answer with where the events are found, on a route that is not guarded.'
  throw new HapaxError('policy_invalid', message)
}

const eventStream = /^\s*text\/event-stream\b/i
