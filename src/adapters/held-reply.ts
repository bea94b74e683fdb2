import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Reply, refuseEventStream } from '../http/port.js'
import { type Awaitable, failed, isPromise } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import { allHeaders, type Holder, handBack, type Inside, secondReply } from './second-reply.js'

export type Handler = (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) => unknown

type Raw = FastifyReply['raw']

/**
 * What a handler answers, before the door says what is sent. The handler has a reply of its own, so that nothing of it
 * reaches the wire, whether it answers in time or after its caller was told that it takes too long.
 */
export class HeldReply implements Holder, ProxyHandler<Raw> {
  readonly raw: Raw
  isSent = false
  said: Reply | undefined
  /** What the body of that was made of, where it was a text. */
  text: string | undefined
  readonly #first: FastifyReply
  readonly #second: Inside
  #status: number
  #failure: { readonly error: unknown } | undefined
  #ended: Promise<Reply> | undefined
  /** Tells who waits, once somebody does. Only the first time counts. */
  #tell: (said: Awaitable<Reply>) => void = nobody

  constructor(reply: FastifyReply) {
    this.raw = new Proxy(reply.raw, this)
    this.#first = reply
    this.#status = reply.statusCode
    this.#second = secondReply(reply, this)
  }

  get hasEnded(): boolean {
    return this.said !== undefined || this.#failure !== undefined
  }

  /** Resolves with what the handler said; rejects with what it threw. Made when somebody has to wait for it. */
  get ended(): Promise<Reply> {
    if (this.said !== undefined) return Promise.resolve(this.said)
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error)
    this.#ended ??= new Promise((resolve) => {
      this.#tell = resolve
    })
    return this.#ended
  }

  /** Calls the handler and takes what it gives, as Fastify does. */
  start(handler: Handler, request: FastifyRequest): void {
    try {
      const given = handler.call(request.server, request, this.#second)
      if (isPromise(given)) given.then(this.answer.bind(this), this.fail.bind(this))
      else if (given !== undefined) this.answer(given)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Sends what the handler gave, unless it has sent something before. */
  answer(value: unknown): void {
    if (this.isSent) return
    try {
      this.#second.send(value)
    } catch (error) {
      this.fail(error)
    }
  }

  capture(payload: unknown): void {
    try {
      const sent = payload instanceof Response ? unwrapped(this.#second, payload) : payload
      const status = this.#status
      const headers = linesOf(this.#second, this.#first.raw)
      refuseEventStream(headers)
      const settle = (body: Uint8Array, text?: string) => this.#settle({ status, headers, body }, text)
      if (isStream(sent)) collected(sent).then((body) => settle(body), this.fail.bind(this))
      else settle(bytesOf(sent), typeof sent === 'string' ? sent : undefined)
    } catch (error) {
      this.fail(error)
    }
  }

  fail(error: unknown): void {
    this.isSent = true
    if (this.said === undefined) {
      this.#failure ??= { error }
      this.#tell(failed(error))
    } else this.#second.log.error({ err: error }, 'The handler failed after it had answered.')
  }

  refuse(what: string): void {
    const message = `A guarded route cannot ${what}: what leaves must be kept first. Send it by reply.send.`
    this.fail(new HapaxError('policy_invalid', message))
  }

  /** What the handler set goes with its own answer and with its error, and with nothing else. */
  handBack(): void {
    handBack(this.#second, this.#first)
  }

  /** What the handler sees of the raw response: all but the ways to write to it, and a status of its own. */
  get(raw: Raw, name: string | symbol): unknown {
    if (name === 'statusCode') return this.#status
    // Not an error that is thrown: a stream that is piped into it would end the process.
    if (writes.has(name)) return () => this.refuse(`write to the raw response by ${String(name)}`)
    const value: unknown = Reflect.get(raw, name)
    return typeof value === 'function' ? value.bind(raw) : value
  }

  set(raw: Raw, name: string | symbol, value: unknown): boolean {
    if (name !== 'statusCode') return Reflect.set(raw, name, value)
    this.#status = value as number
    return true
  }

  #settle(said: Reply, text: string | undefined): void {
    if (this.#failure !== undefined || this.said !== undefined) return
    this.said = said
    this.text = text
    this.#tell(said)
  }
}

function nobody(): void {}

const writes: ReadonlySet<string | symbol> = new Set([
  'end',
  'flushHeaders',
  'write',
  'writeContinue',
  'writeEarlyHints',
  'writeHead',
  'writeProcessing',
])

function unwrapped(reply: FastifyReply, response: Response): unknown {
  reply.code(response.status)
  for (const [name, value] of response.headers) reply.header(name, value)
  return response.body
}

function isStream(payload: unknown): payload is AsyncIterable<Uint8Array | string> {
  return typeof payload === 'object' && payload !== null && Symbol.asyncIterator in payload
}

async function collected(stream: AsyncIterable<Uint8Array | string>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

/** A copy: whoever sent the bytes may use them again while they are stored. */
function bytesOf(payload: unknown): Buffer {
  return payload === undefined || payload === null ? Buffer.alloc(0) : Buffer.from(payload as string | Uint8Array)
}

/** What was set on the raw response comes first, as Fastify has it. */
function linesOf(reply: FastifyReply, raw: Raw): Reply['headers'] {
  const lines: [string, string][] = []
  const headers = allHeaders(reply, raw)
  for (const name in headers) {
    const value = headers[name]
    if (Array.isArray(value)) for (const line of value) lines.push([name, line])
    else if (value !== undefined) lines.push([name, String(value)])
  }
  return lines
}
