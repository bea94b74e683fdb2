import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { isAdded, type Reply, refuseEventStream } from '../http/port.js'

/** A response of node whose bytes do not leave: what is written into it is kept. */
export interface HeldResponse {
  /** Everything that was written, once it has been ended. Rejects when it was destroyed before. */
  readonly ended: Promise<Reply>
  /** Whether anything was written, or is being piped. */
  isBegun(): boolean
  /** Gives the response back as it was before: nothing that was written is in it. */
  letGo(): void
}

/** Stands in front of whoever has wrapped the response before, such as a compression: these see only what is sent. */
export function holdBack(response: ServerResponse): HeldResponse {
  const { statusCode } = response
  const before = response.getHeaders()
  const chunks: Buffer[] = []
  let begun: Pick<Reply, 'status' | 'headers'> | undefined
  let isPiped = false
  let end: (reply: Reply) => void = () => {}
  let fail: (error: unknown) => void = () => {}
  const ended = new Promise<Reply>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  ended.catch(() => {})
  const begin = () => {
    if (begun === undefined) {
      const headers = headersOf(response)
      refuseEventStream(headers)
      begun = { status: response.statusCode, headers }
    }
    return begun
  }
  const keep = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk, encodingOf(encoding)))
    // A writer may use its buffer again as soon as it is told that the bytes are written.
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
  }
  const onPipe = () => {
    isPiped = true
  }
  response.on('pipe', onPipe)
  const restore = replaced(response, {
    headersSent: { get: () => begun !== undefined },
    writeHead: {
      value(status: number, ...rest: unknown[]) {
        response.statusCode = status
        for (const [name, value] of headerArguments(rest.at(-1))) response.setHeader(name, value)
        begin()
        return response
      },
    },
    flushHeaders: { value: () => void begin() },
    write: {
      value(...given: unknown[]) {
        begin()
        keep(given[0], given[1])
        const done = given.find((argument) => typeof argument === 'function')
        if (done !== undefined) queueMicrotask(() => done())
        return true
      },
    },
    end: {
      value(...given: unknown[]) {
        const done = given.find((argument) => typeof argument === 'function')
        if (done !== undefined) response.once('finish', () => done())
        const head = begin()
        keep(given[0], given[1])
        end({ ...head, body: Buffer.concat(chunks) })
        return response
      },
    },
    // A pipeline destroys its end when its source breaks off. The client shall still be told.
    destroy: {
      value(error?: unknown) {
        fail(error ?? new Error('The response was destroyed before it was ended.'))
        return response
      },
    },
  })
  const reopen = keptOpen(response)
  return {
    ended,
    isBegun: () => begun !== undefined || isPiped,
    letGo() {
      restore()
      reopen()
      response.off('pipe', onPipe)
      response.statusCode = statusCode
      for (const name of response.getHeaderNames()) response.removeHeader(name)
      for (const [name, value] of definedHeaders(before)) response.setHeader(name, value)
    },
  }
}

/**
 * Hides that the client has gone away: a pipeline would give up on it, and what began is to be finished. The function
 * that comes back tells it to all who listen.
 */
function keptOpen(response: ServerResponse): () => void {
  const { emit } = response
  const hidden = new Map<string, unknown>()
  const isHidden = (name: string) => ({ get: () => false, set: (value: unknown) => void hidden.set(name, value) })
  let isClosed = false
  const restore = replaced(response, {
    destroyed: isHidden('destroyed'),
    _closed: isHidden('_closed'),
    emit: {
      value(event: string, ...given: unknown[]) {
        if (event !== 'close') return emit.call(response, event, ...given)
        isClosed = true
        return true
      },
    },
  })
  return () => {
    restore()
    Object.assign(response, Object.fromEntries(hidden))
    if (isClosed) response.emit('close')
  }
}

/** Sends a reply. Headers that others have set before stay where the reply has none of its own; lists are joined. */
export function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.statusCode = status
  for (const [name] of headers) if (!isAdded(name)) response.removeHeader(name)
  for (const [name, value] of headers) {
    // The first caller's reply has been captured with what others had set before.
    const isThere = isAdded(name) && [response.getHeader(name)].flat().includes(value)
    if (!isThere) response.appendHeader(name, value)
  }
  response.end(body)
}

function headersOf(response: ServerResponse): Reply['headers'] {
  return response.getHeaderNames().flatMap((name) => {
    const value = response.getHeader(name) ?? []
    return (Array.isArray(value) ? value : [value]).map((line) => [name, String(line)] as const)
  })
}

function definedHeaders(headers: OutgoingHttpHeaders): (readonly [string, number | string | string[]])[] {
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

/** The headers of `writeHead`: an object, or names and values in turns. */
function headerArguments(given: unknown): (readonly [string, number | string | string[]])[] {
  if (typeof given !== 'object' || given === null) return []
  if (!Array.isArray(given)) return definedHeaders(given as OutgoingHttpHeaders)
  const flat: unknown[] = given.flat()
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[String(name), String(flat[at + 1])] as const] : []))
}

function encodingOf(given: unknown): BufferEncoding {
  return typeof given === 'string' && Buffer.isEncoding(given) ? given : 'utf8'
}

/** Puts properties in front of those of an object. The function that comes back takes them away again. */
function replaced(target: object, properties: PropertyDescriptorMap): () => void {
  const own = Object.keys(properties).map((name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const)
  for (const [name, property] of Object.entries(properties))
    Object.defineProperty(target, name, { configurable: true, ...property })
  return () => {
    for (const [name, property] of own) {
      if (property === undefined) Reflect.deleteProperty(target, name)
      else Object.defineProperty(target, name, property)
    }
  }
}
