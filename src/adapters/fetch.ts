import { handle } from '../http/door.js'
import {
  type Engine,
  type Exchange,
  type Reply,
  type RouteOptions,
  refuseEventStream,
  routeOf,
  tooLarge,
  type Work,
} from '../http/port.js'
import { joinedLines } from './joined-lines.js'

export { keyStatus } from './fetch-status.js'

/** A handler in the manner of the Fetch API, and what it holds while it runs. */
export type GuardedHandler<Tx> = (request: Request, work: Work<Tx>) => Response | Promise<Response>

/**
 * Guards any `(Request) => Response`: Next.js, Remix, SvelteKit, Hono, Bun, Deno, Workers. The response is held back
 * until it is durable. Methods that the route does not guard go straight to the handler.
 *
 * @example
 * export const POST = guard(hapax, { name: 'payments.create', scope: (request) => tenantOf(request) }, async (request, work) =>
 *   Response.json(await pay(await request.json()), { status: 201 }),
 * )
 */
export function guard<Tx>(
  engine: Engine<Tx>,
  options: RouteOptions<Request>,
  handler: GuardedHandler<Tx>,
): (request: Request) => Promise<Response> {
  const route = routeOf(engine, options)
  return async (request) => {
    const handled = await handle(engine, exchangeOf(request, handler), route, request)
    return handled.kind === 'reply' ? responseOf(handled.reply) : handler(request, handled.work)
  }
}

function exchangeOf<Tx>(request: Request, handler: GuardedHandler<Tx>): Exchange<Tx> {
  const { pathname, search } = new URL(request.url)
  let body: Uint8Array<ArrayBuffer> = new Uint8Array()
  const captured = capture()
  return {
    method: request.method,
    target: `${pathname}${search}`,
    lines: (name) => joinedLines(request.headers.get(name)),
    async body(limit) {
      body = await bytesOf(request.body, limit)
      return body
    },
    // The body was read, so the handler is given a request that has it still. One that was empty was read as well.
    async run(work) {
      const response = await handler(new Request(request, { body: request.body === null ? null : body }), work)
      // A stream that breaks off is a handler that throws: whatever it made of itself, it has not answered.
      await captured(response)
      return response
    },
    captured,
  }
}

/** Reads a response once, however often it is asked for. */
function capture(): (value: unknown) => Promise<Reply> {
  const replies = new WeakMap<Response, Promise<Reply>>()
  return (value) => {
    const response = value as Response
    const reply = replies.get(response) ?? replyOf(response)
    replies.set(response, reply)
    return reply
  }
}

async function replyOf(response: Response): Promise<Reply> {
  refuseEventStream([...response.headers])
  const body = await bytesOf(response.body, Number.POSITIVE_INFINITY)
  return { status: response.status, headers: [...response.headers], body }
}

function responseOf({ status, headers, body }: Reply): Response {
  return new Response(body.byteLength === 0 ? null : Uint8Array.from(body), {
    status,
    headers: headers.map(([name, value]) => [name, value]),
  })
}

async function bytesOf(stream: ReadableStream<Uint8Array> | null, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream ?? []) {
    chunks.push(chunk)
    length += chunk.byteLength
    if (length > limit) throw tooLarge(limit)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}
