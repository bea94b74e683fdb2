import {
  type AnyOperationRoute,
  type Engine,
  type Exchange,
  handle,
  marked,
  type OperationRouteOptions,
  type Reply,
  type RouteOptions,
  routeOf,
  type Work,
} from '../http/port.js'
import { HapaxError } from '../kernel/errors.js'
import { capture } from './captured-response.js'
import { copiedBody } from './copied-body.js'
import { joinedLines } from './joined-lines.js'
import { nobody, refuseMissingHandler } from './missing-handler.js'

export { keyStatus } from './fetch-status.js'

/**
 * A handler in the manner of the Fetch API, and what it holds while it runs. Whatever a framework gives beside the request
 * comes behind the work.
 */
export type GuardedHandler<Tx, Given extends Request = Request, Context extends unknown[] = []> = (
  request: Given,
  work: Work<Tx>,
  ...context: Context
) => Response | Promise<Response>

/** The options of a route whose scope looks at more than the request. */
export interface ContextOptions<Given extends Request, Context extends unknown[]>
  extends Omit<RouteOptions<Given>, 'scope'> {
  readonly scope: (request: Given, ...context: Context) => ReturnType<RouteOptions<Given>['scope']>
}

/**
 * Guards any `(Request) => Response`: Next.js, Remix, SvelteKit, Hono, Bun, Deno; Cloudflare Workers with
 * `nodejs_compat`. The response is held back until it is durable. The handler is given the request itself, with a body
 * that can still be read, and behind its work whatever else the framework gives. Methods that the route does not guard go
 * straight to the handler. What the handler throws is thrown on, to the framework.
 *
 * @example
 * // Next.js, app/orders/[id]/payments/route.ts
 * export const POST = guard(
 *   hapax,
 *   { name: 'payments.create', scope: (request) => tenantOf(request) },
 *   async (request: NextRequest, work, { params }: { params: Promise<{ id: string }> }) =>
 *     Response.json(await pay((await params).id, await request.json()), { status: 201 }),
 * )
 *
 * @example
 * // SvelteKit and Remix give one object that has the request in it.
 * const payments = guard(
 *   hapax,
 *   { name: 'payments.create', scope: (_request: Request, { locals }: RequestEvent) => locals.tenant },
 *   async (request: Request, work, { params }: RequestEvent) => Response.json(await pay(params.id, await request.json())),
 * )
 * export const POST = (event: RequestEvent) => payments(event.request, event)
 */
export function guard<Tx, Given extends Request, Input>(
  engine: Engine<Tx>,
  options: OperationRouteOptions<Tx, Given, Input>,
): (request: Given) => Promise<Response>
export function guard<Tx, Seen extends Request, Given extends Seen, Context extends unknown[]>(
  engine: Engine<Tx>,
  options: RouteOptions<Seen>,
  handler: GuardedHandler<Tx, Given, Context>,
): (request: Given, ...context: Context) => Promise<Response>
export function guard<Tx, Seen extends Request, Given extends Seen, Context extends unknown[]>(
  engine: Engine<Tx>,
  options: ContextOptions<Seen, Context>,
  handler: GuardedHandler<Tx, Given, Context>,
): (request: Given, ...context: Context) => Promise<Response>
export function guard<Tx, Given extends Request, Context extends unknown[]>(
  engine: Engine<Tx>,
  options: (RouteOptions<Given> & ContextOptions<Given, Context>) | AnyOperationRoute<Tx, Given>,
  handler?: GuardedHandler<Tx, Given, Context>,
): (request: Given, ...context: Context) => Promise<Response> {
  const route = routeOf(engine, options)
  refuseMissingHandler(route, handler, '(request, work) => Response')
  const scope = options.scope as ContextOptions<Given, Context>['scope']
  return marked(async (request: Given, ...context: Context) => {
    if (route.methods.includes(request.method) && isRead(request)) throw readBefore(route.policy.name)
    const run = (work: Work<Tx>) => (handler ?? nobody)(request, work, ...context)
    const scoped = { ...route, scope: (request: Given) => scope(request, ...context) }
    const handled = await handle(engine, exchangeOf(request, run), scoped, request)
    return handled.kind === 'reply' ? responseOf(handled.reply) : run(handled.work)
  }, route)
}

function exchangeOf<Tx>(request: Request, run: (work: Work<Tx>) => Response | Promise<Response>): Exchange<Tx> {
  const { pathname, search } = new URL(request.url)
  const captured = capture()
  return {
    method: request.method,
    target: `${pathname}${search}`,
    lines: (name) => joinedLines(request.headers.get(name)),
    body: (limit) => copiedBody(request, limit),
    async run(work) {
      const response = await run(work)
      // A stream that breaks off is a handler that throws: whatever it made of itself, it has not answered.
      await captured(response)
      return response
    },
    captured,
  }
}

/** A body that was read, or that somebody is about to read, has no bytes left for us. */
function isRead({ bodyUsed, body }: Request): boolean {
  return bodyUsed || body?.locked === true
}

function responseOf({ status, headers, body }: Reply): Response {
  return new Response(body.byteLength === 0 ? null : Uint8Array.from(body), {
    status,
    headers: headers.map(([name, value]) => [name, value]),
  })
}

function readBefore(name: string): HapaxError {
  const message = `Route "${name}": the body was read before the guard, and its bytes are gone. Read request.clone() there, or put it behind the guard.`
  return new HapaxError('policy_invalid', message)
}
