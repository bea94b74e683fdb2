import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Exchange, Handled, Reply, Work } from '../http/port.js'
import type { Awaitable } from '../kernel/awaitable.js'
import { HapaxError, invariant } from '../kernel/errors.js'
import { payloadOf, wholePayloadOf } from './fastify-payload.js'
import { type Handler, HeldReply } from './held-reply.js'
import { rawLines } from './raw-lines.js'
import type { WatchedBody } from './watched-body.js'

/** Where a request keeps the bytes of its body. */
export const place = Symbol('hapax')

export type Kept<Tx> = FastifyRequest & { [place]?: KeptBody; work?: Work<Tx> }

interface KeptBody {
  /** Whether its content encoding has been undone. */
  readonly isUnwrapped: boolean
  readonly body: WatchedBody
}

/** A request to a guarded route of Fastify, and the handler behind it. */
export class FastifyExchange<Tx> implements Exchange<Tx> {
  readonly comesInTurns = true
  readonly method: string
  readonly target: string
  readonly #request: Kept<Tx>
  readonly #reply: FastifyReply
  readonly #handler: Handler
  #held: HeldReply | undefined

  constructor(request: Kept<Tx>, reply: FastifyReply, handler: Handler) {
    this.method = request.method
    this.target = request.originalUrl
    this.#request = request
    this.#reply = reply
    this.#handler = handler
  }

  lines(name: string): readonly string[] {
    if (name === 'content-encoding' && this.#request[place]?.isUnwrapped) return []
    return rawLines(this.#request.raw.rawHeaders, name)
  }

  body(): Awaitable<Uint8Array> {
    const { [place]: kept } = this.#request
    invariant(kept, 'preParsing comes before the handler')
    return kept.body.bytes()
  }

  run(work: Work<Tx>): Awaitable<unknown> {
    this.#request.work = work
    this.#held = new HeldReply(this.#reply)
    this.#held.start(this.#handler, this.#request)
    return this.#held.said ?? this.#held.ended
  }

  captured(value: unknown): Awaitable<Reply> {
    const held = this.#held
    invariant(held, 'what is captured was run')
    if (!held.isSent && value === undefined) throw notAnswered()
    held.answer(value)
    return held.said ?? held.ended
  }

  /** What Fastify is to send. */
  leave(handled: Handled<Tx>): unknown {
    invariant(handled.kind === 'reply', 'who waits for the door is guarded')
    const held = this.#held
    if (held?.said?.body !== handled.reply.body) return payloadOf(handled.reply, this.#reply)
    held.handBack()
    return wholePayloadOf(handled.reply, this.#reply, held.text)
  }

  threw(error: unknown): never {
    this.#held?.handBack()
    throw error
  }
}

function notAnswered(): HapaxError {
  const message = 'Send the reply inside work.commit, or return it there: it is committed together with your rows.'
  return new HapaxError('handler_failed', message)
}
