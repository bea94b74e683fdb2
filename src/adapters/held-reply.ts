import { isUtf8 } from 'node:buffer'
import type { FastifyReply } from 'fastify'
import { isAdded, type Reply, refuseEventStream } from '../http/port.js'
import { HapaxError } from '../kernel/errors.js'

/** Goes on from a hook of Fastify: with an error, or with what is to be sent. */
type GoOn = (error: Error | null, payload?: unknown) => void

/** A reply of Fastify that is not sent before the door says so. */
export class HeldReply {
  readonly #reply: FastifyReply
  /** The handler has not begun, runs, has said what it has to say, or its error handler has said something since. */
  #phase: 'waiting' | 'running' | 'captured' | 'overtaken' = 'waiting'
  /** Whether, and when, the handler threw or sent an error. */
  #failed: 'no' | 'before its answer' | 'after its answer' = 'no'
  #failure: unknown
  #isBegun = false
  /** Headers that were set before the handler ran. */
  #before: object = {}
  /** What the handler sent, as Fastify had it and as bytes, and how to go on from the hook that holds it. */
  #payload: unknown
  #said: Reply | undefined
  #goOn: GoOn | undefined
  /** Sends what the error handler said after the handler had answered. */
  #overtake: (() => void) | undefined
  /** What the door said. */
  #answer: Reply | undefined
  #isRefused = false
  #end: (said: Reply) => void = () => {}
  #fail: (error: unknown) => void = () => {}

  constructor(reply: FastifyReply) {
    this.#reply = reply
  }

  isWaiting(): boolean {
    return this.#phase === 'waiting'
  }

  /** From now on what is sent is held. Resolves with what the handler said; rejects with what it threw. */
  hold(): Promise<Reply> {
    const reply = this.#reply
    const { send } = reply
    const ended = new Promise<Reply>((resolve, reject) => {
      this.#end = resolve
      this.#fail = reject
    })
    ended.catch(() => {})
    this.#phase = 'running'
    this.#before = reply.getHeaders()
    reply.hijack = refuseHijack
    reply.send = (payload) => {
      // Fastify sends once more, nothing, when an async handler ends and its reply has not left yet.
      if (payload === undefined && this.#phase === 'captured' && this.#failed === 'no') return reply
      this.#isBegun = true
      return send.call(reply, payload)
    }
    // Whoever awaits the reply inside work.commit would wait for what is sent after the commit.
    // biome-ignore lint/suspicious/noThenProperty: a reply of Fastify has it, and means it.
    reply.then = (resolve) =>
      void ended.then(
        () => resolve(),
        () => resolve(),
      )
    return ended
  }

  /** Sends what `work.commit` was given, unless something was sent inside. */
  commit(value: unknown): void {
    if (this.#isBegun) return
    if (value === undefined) throw notAnswered()
    this.#reply.send(value)
  }

  /** What the handler said, once it has, unless it threw before. */
  said(): Reply | undefined {
    return this.#failed === 'before its answer' ? undefined : this.#said
  }

  threw(error: unknown): void {
    if (this.#phase === 'waiting' || this.#failed !== 'no') return
    this.#failed = this.#phase === 'running' ? 'before its answer' : 'after its answer'
    this.#failure = error
  }

  /** What Fastify is about to send. */
  sends(payload: unknown, goOn: GoOn): void {
    if (this.#answer !== undefined) goOn(null, this.#delivered(this.#answer))
    else if (this.#phase === 'waiting') goOn(null, payload)
    else if (this.#phase === 'running') this.#capture(payload, goOn)
    // The first thing that a handler sends is its answer. Only if nothing became of that, because the commit around it
    // failed, what the error handler says is sent.
    else if (this.#phase === 'captured' && this.#failed === 'after its answer') {
      this.#phase = 'overtaken'
      this.#overtake = () => goOn(null, payload)
      if (this.#isRefused) this.#overtake()
    }
  }

  /** The door has an answer: it is sent, now or by the hook that the reply comes to. */
  answer(answer: Reply): void {
    this.#answer = answer
    if (this.#phase === 'waiting' || this.#phase === 'running') this.#reply.send()
    else this.#goOn?.(null, this.#delivered(answer))
  }

  /** The door has none: what the error handler of the application says is sent. */
  refuse(error: Error): void {
    this.#isRefused = true
    if (this.#phase === 'running') this.#reply.send(error)
    else if (this.#failed === 'before its answer') this.#goOn?.(null, this.#payload)
    else if (this.#failed === 'after its answer') this.#overtake?.()
    else {
      this.#phase = 'waiting'
      Reflect.deleteProperty(this.#reply, 'then')
      this.#goOn?.(error)
    }
  }

  #capture(payload: unknown, goOn: GoOn): void {
    this.#phase = 'captured'
    this.#goOn = goOn
    const failed = (error: Error) => {
      this.#phase = 'running'
      this.#goOn = undefined
      goOn(error)
    }
    try {
      const sent = payload instanceof Response ? unwrapped(this.#reply, payload) : payload
      const head = { status: this.#reply.statusCode, headers: headersOf(this.#reply) }
      refuseEventStream(head.headers)
      const settle = (body: Buffer) => this.#settle({ ...head, body }, typeof sent === 'string' ? sent : body)
      if (isStream(sent)) collected(sent).then(settle, failed)
      else settle(bytesOf(sent))
    } catch (error) {
      failed(error as Error)
    }
  }

  #settle(said: Reply, payload: string | Buffer): void {
    this.#said = said
    this.#payload = payload
    if (this.#failed === 'before its answer') this.#fail(this.#failure)
    else this.#end(said)
  }

  /** Puts status and headers of an answer into the reply, and gives its body. */
  #delivered({ status, headers, body }: Reply): unknown {
    const reply = this.#reply
    const lines = grouped(headers)
    if (this.#phase !== 'waiting') {
      for (const name in reply.getHeaders()) if (!(name in this.#before) && !lines.has(name)) reply.removeHeader(name)
    }
    for (const [name, values] of lines) setHeader(reply, name, values)
    reply.code(status)
    if (body.byteLength === 0) return null
    return body === this.#said?.body ? this.#payload : textOrBytes(body)
  }
}

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

/** Text leaves in one piece with its head, and bytes do not. Of what is well-formed both are the same on the wire. */
function textOrBytes(body: Uint8Array): string | Buffer {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  return isUtf8(bytes) ? bytes.toString() : bytes
}

function headersOf(reply: FastifyReply): Reply['headers'] {
  const lines: [string, string][] = []
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (Array.isArray(value)) for (const line of value) lines.push([name, line])
    else if (value !== undefined) lines.push([name, String(value)])
  }
  return lines
}

function grouped(headers: Reply['headers']): Map<string, string[]> {
  const lines = new Map<string, string[]>()
  for (const [given, value] of headers) {
    const name = given.toLowerCase()
    const others = lines.get(name)
    if (others === undefined) lines.set(name, [value])
    else others.push(value)
  }
  return lines
}

/** Takes the place of what was set before. A list that several may add to is joined to it. */
function setHeader(reply: FastifyReply, name: string, values: readonly string[]): void {
  const value = values.length === 1 ? values[0] : values
  const before = reply.getHeader(name)
  if (before === value) return
  if (isAdded(name) && before !== undefined) {
    const there = [before].flat().map(String)
    reply.header(name, [...new Set([...there, ...values])])
    return
  }
  // Of cookies Fastify keeps those from before, too.
  if (before !== undefined) reply.removeHeader(name)
  reply.header(name, value)
}

function refuseHijack(): never {
  throw new HapaxError('policy_invalid', 'A guarded route cannot hijack its reply: what leaves must be kept first.')
}

function notAnswered(): HapaxError {
  const message = 'Send the reply inside work.commit, or return it there: it is committed together with your rows.'
  return new HapaxError('handler_failed', message)
}
