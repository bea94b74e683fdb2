import type { FastifyReply } from 'fastify'
import { invariant } from '../kernel/errors.js'

/** Who is told what becomes of a second reply. */
export interface Holder {
  readonly raw: FastifyReply['raw']
  readonly ended: Promise<unknown>
  readonly hasEnded: boolean
  isSent: boolean
  capture(payload: unknown): void
  fail(error: unknown): void
  refuse(what: string): void
}

/** A reply of Fastify with what Fastify keeps in it under symbols of its own. */
export type Inside = FastifyReply & { [name: string | symbol]: unknown }

/**
 * A second reply to a request. Fastify itself serialises what is sent by it, with the hooks, schemas and serializers of
 * the route, and where it would go on to `onSend` and to the wire, or to the error handler, the holder is told.
 *
 * Fastify has no public name for that place: a hook `onSend` of a route comes behind those of the application, which
 * would run twice on the first answer and change a replay that they have changed before. So this replaces two hooks in
 * the context of the route, which is under a symbol of its own.
 */
export function secondReply(reply: FastifyReply, holder: Holder): Inside {
  const context = (reply.request as unknown as Inside)[symbols(reply).context] as object
  let Second = classes.get(context)
  if (Second === undefined) {
    Second = secondClass(reply.constructor as ReplyClass, context, symbols(reply))
    classes.set(context, Second)
  }
  return new Second(reply, holder)
}

/** Puts what was made of a second reply into the first one, for whoever sends that. */
export function handBack(second: Inside, reply: FastifyReply): void {
  const first = reply as Inside
  for (const name of Reflect.ownKeys(second)) {
    if (second[name] !== first[name] && !isFastifys(name)) first[name] = second[name]
  }
  const { headers } = symbols(first)
  first[headers] = second[headers]
  first.code(second.statusCode)
}

/** What a reply sends, by name. Hardly anybody sets a header on the raw response: then it is no copy, which costs. */
export function allHeaders(
  reply: FastifyReply,
  raw = reply.raw,
): Readonly<Record<string, string | number | string[] | undefined>> {
  if (raw.getHeaderNames().length > 0) return reply.getHeaders()
  return (reply as Inside)[symbols(reply).headers] as Record<string, string>
}

/** How far Fastify has come with a reply is nothing for another one. */
function isFastifys(name: string | symbol): boolean {
  return typeof name === 'string' ? name === 'raw' : name.description?.startsWith('fastify.reply.') === true
}

type ReplyClass = new (raw: unknown, request: unknown, log: unknown) => Inside
type SecondClass = new (reply: FastifyReply, holder: Holder) => Inside
/** One for each route. */
const classes = new WeakMap<object, SecondClass>()

function secondClass(Base: ReplyClass, context: object, { headers, context: contextAt }: Symbols): SecondClass {
  class Second extends Base {
    readonly #holder: Holder

    constructor(first: FastifyReply, holder: Holder) {
      super(first.raw, first.request, first.log)
      this.#holder = holder
      Object.assign(this, first)
      this.raw = holder.raw
      this[headers] = { ...((first as Inside)[headers] as object) }
    }

    override get sent(): boolean {
      return this.#holder.isSent
    }

    override send(payload?: unknown): this {
      super.send(payload)
      this.#holder.isSent = true
      return this
    }

    /** Whoever awaits a reply inside `work.commit` would wait for what is sent after the commit. */
    // biome-ignore lint/suspicious/noThenProperty: a reply of Fastify has it, and means it.
    override then(fulfilled: () => void): void {
      const goOn = () => fulfilled()
      if (this.#holder.hasEnded) goOn()
      else this.#holder.ended.then(goOn, goOn)
    }

    override hijack(): this {
      this.#holder.refuse('hijack its reply')
      return this
    }

    static captures(_request: unknown, second: Second, payload: unknown): void {
      second.#holder.capture(payload)
    }

    static fails(error: unknown, _request: unknown, second: Second): void {
      second.#holder.fail(error)
    }
  }
  const capturing = Object.create(context, {
    onSend: { value: [Second.captures] },
    onError: { value: null },
    errorHandler: { value: { func: Second.fails } },
  })
  Object.defineProperty(Second.prototype, contextAt, { value: capturing })
  return Second
}

interface Symbols {
  readonly context: symbol
  readonly headers: symbol
}

let found: Symbols | undefined

function symbols(reply: FastifyReply): Symbols {
  // There may be more than one Fastify in a process.
  if (found === undefined || !(found.headers in reply)) {
    const context = symbolOf(reply.request, 'fastify.context')
    found = { context, headers: symbolOf(reply, 'fastify.reply.headers') }
  }
  return found
}

function symbolOf(object: object, description: string): symbol {
  const symbol = Object.getOwnPropertySymbols(object).find((symbol) => symbol.description === description)
  invariant(symbol, `this version of Fastify keeps no ${description}`)
  return symbol
}
