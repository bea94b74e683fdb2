import type { FastifyReply } from 'fastify'
import type { Reply } from '../http/port.js'
import { HapaxError } from '../kernel/errors.js'

/** A reply of Fastify that is not sent before the door says so. */
export interface HeldReply {
  /** The handler has not begun, runs, has said what it has to say, or its error handler has said something since. */
  phase: 'waiting' | 'running' | 'captured' | 'overtaken'
  /** Whether, and when, the handler threw or sent an error. */
  failed: 'no' | 'before its answer' | 'after its answer'
  body: Uint8Array
  /** What the door lets out. */
  sending: Promise<Reply | undefined>
  answered: Reply | undefined
  /** What the handler said; rejects with what it threw. */
  readonly ended: Promise<Reply>
  hold(): void
  /** From now on Fastify sends what it is given. */
  giveBack(): void
  threw(error: unknown): void
  settle(said: Reply): void
  captured(value: unknown): Promise<Reply>
  /** Sends what the door says, unless the hook that waits for it does. */
  answer(reply: Reply): void
  /** Puts status and headers of an answer into the reply, and gives its body. */
  deliver(answer: Reply): Buffer | null
}

export function heldReply(reply: FastifyReply): HeldReply {
  let failure: unknown
  let isBegun = false
  let end: (said: Reply) => void = () => {}
  let fail: (error: unknown) => void = () => {}
  const ended = new Promise<Reply>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  ended.catch(() => {})
  let before = new Set<string>()
  const held: HeldReply = {
    phase: 'waiting',
    failed: 'no',
    body: new Uint8Array(),
    sending: Promise.resolve(undefined),
    answered: undefined,
    ended,
    hold() {
      held.phase = 'running'
      before = new Set(Object.keys(reply.getHeaders()))
      const { send } = reply
      Object.assign(reply, {
        hijack: refuseHijack,
        send(payload: unknown) {
          isBegun = true
          return send.call(reply, payload)
        },
        // Whoever awaits the reply inside work.commit would wait for what is sent after the commit.
        // biome-ignore lint/suspicious/noThenProperty: a reply of Fastify has it, and means it.
        then: (resolve: () => void) =>
          void ended.then(
            () => resolve(),
            () => resolve(),
          ),
      })
    },
    giveBack() {
      held.phase = 'waiting'
      Reflect.deleteProperty(reply, 'then')
    },
    threw(error) {
      if (held.phase === 'waiting' || held.failed !== 'no') return
      held.failed = held.phase === 'running' ? 'before its answer' : 'after its answer'
      failure = error
    },
    settle: (said) => (held.failed === 'before its answer' ? fail(failure) : end(said)),
    async captured(value) {
      if (!isBegun && value === undefined) throw notAnswered()
      if (!isBegun) reply.send(value)
      return ended
    },
    answer(answer) {
      held.answered = answer
      if (held.phase === 'waiting' || held.phase === 'running') reply.send()
    },
    deliver({ status, headers, body }) {
      const said = held.phase === 'waiting' ? [] : Object.keys(reply.getHeaders()).filter((name) => !before.has(name))
      for (const name of [...said, ...headers.map(([name]) => name)]) reply.removeHeader(name)
      for (const [name, lines] of grouped(headers)) reply.header(name, lines.length === 1 ? lines[0] : lines)
      reply.code(status)
      return body.byteLength === 0 ? null : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    },
  }
  return held
}

/** What Fastify is about to send. */
export async function replyOf(reply: FastifyReply, payload: unknown): Promise<Reply & { readonly body: Buffer }> {
  if (!(payload instanceof Response)) {
    const head = { status: reply.statusCode, headers: headersOf(reply) }
    return { ...head, body: await bytesOf(payload) }
  }
  reply.code(payload.status)
  for (const [name, value] of payload.headers) reply.header(name, value)
  return replyOf(reply, payload.body)
}

async function bytesOf(payload: unknown): Promise<Buffer> {
  if (payload === undefined || payload === null) return Buffer.alloc(0)
  if (typeof payload === 'string') return Buffer.from(payload)
  if (payload instanceof Uint8Array) return Buffer.from(payload)
  const chunks: Buffer[] = []
  for await (const chunk of payload as AsyncIterable<Uint8Array | string>) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

function headersOf(reply: FastifyReply): Reply['headers'] {
  return Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((line) => [name, String(line)] as const),
  )
}

function grouped(headers: Reply['headers']): Map<string, string[]> {
  const lines = new Map<string, string[]>()
  for (const [name, value] of headers) lines.set(name, [...(lines.get(name) ?? []), value])
  return lines
}

function refuseHijack(): never {
  throw new HapaxError('policy_invalid', 'A guarded route cannot hijack its reply: what leaves must be kept first.')
}

function notAnswered(): HapaxError {
  const message = 'Send the reply inside work.commit, or return it there: it is committed together with your rows.'
  return new HapaxError('handler_failed', message)
}
