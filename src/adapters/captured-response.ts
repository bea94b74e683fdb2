import { type Reply, refuseEventStream } from '../http/port.js'
import { HapaxError } from '../kernel/errors.js'
import { bytesOf } from './streamed-bytes.js'

/** Reads a response once, however often it is asked for. */
export function capture(): (value: unknown) => Promise<Reply> {
  const replies = new WeakMap<Response, Promise<Reply>>()
  return (value) => {
    if (!isResponse(value)) throw noResponse()
    const reply = replies.get(value) ?? replyOf(value)
    replies.set(value, reply)
    return reply
  }
}

/** By what it can do: a framework may bring a class of its own. */
function isResponse(value: unknown): value is Response {
  const { status, headers, arrayBuffer } = (value ?? {}) as Partial<Response>
  return typeof status === 'number' && typeof headers?.get === 'function' && typeof arrayBuffer === 'function'
}

async function replyOf(response: Response): Promise<Reply> {
  if (response.bodyUsed) throw usedResponse()
  refuseEventStream([...response.headers])
  const body = (await bytesOf(response.body, Number.POSITIVE_INFINITY)) ?? new Uint8Array()
  return { status: response.status, headers: [...response.headers], body }
}

function noResponse(): HapaxError {
  const message =
    'The handler of a guarded route returned no Response; return one on every path, and inside work.commit.'
  return new HapaxError('handler_failed', message)
}

function usedResponse(): HapaxError {
  const message = 'The handler returned a Response whose body was read already; return one that is whole.'
  return new HapaxError('handler_failed', message)
}
