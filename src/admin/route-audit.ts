import { guardMark, markOf } from '../http/guard-mark.js'
import { HapaxError } from '../kernel/errors.js'
import { expressRoutes } from './express-routes.js'
import { changing, type FoundRoute } from './found-route.js'
import { guardAmong } from './guard-among.js'
import { type OpenApiShape, openApiRoutes } from './openapi-routes.js'

/** A route that changes something, and what becomes of a request that comes twice. */
export interface GuardedRoute {
  readonly method: string
  readonly path: string
  /** `idempotent`: by its method, PUT or DELETE. `exempt`: somebody said so. `gap`: nothing keeps it from running twice. */
  readonly verdict: 'guarded' | 'idempotent' | 'exempt' | 'gap'
  /** What guards it. */
  readonly by?: string
  /** Why not all is known of it, and what to do. */
  readonly note?: string
}

export interface RouteAuditOptions {
  /** Routes that need no key, as `POST /login`, each for a reason of yours; `*` stands for anything. */
  readonly exempt?: readonly string[]
}

/**
 * Every route of an application that changes something, and whether it is guarded: of an Express or Hono application, of a
 * Nest application on either, of a Fastify instance that is ready, or of an OpenAPI document.
 *
 * @example
 * const gaps = (await routesOf(app)).filter(({ verdict }) => verdict === 'gap')
 */
export async function routesOf(app: unknown, options: RouteAuditOptions = {}): Promise<readonly GuardedRoute[]> {
  return judged(await found(app), options)
}

/**
 * The same for Fastify, which shows a route only while it is added: call it before the first one, and what it returns when all
 * are there.
 *
 * @example
 * const routes = routeCollector(app)
 * app.post('/payments', guard(hapax, …))
 * console.log(routes())
 */
export function routeCollector(
  app: { addHook(name: 'onRoute', hook: (route: FastifyRoute) => void): unknown },
  options: RouteAuditOptions = {},
): () => readonly GuardedRoute[] {
  const seen: FoundRoute[] = []
  app.addHook('onRoute', (route) => {
    // One that only says that a path does not know a method has nothing but a refusal.
    if (route.onRequest !== undefined && route.onRequest === route.handler) return
    for (const method of [route.method].flat()) seen.push({ method, path: route.url, guard: markOf(route.handler) })
  })
  return () => judged(seen, options)
}

/**
 * Says that a function of yours guards by calling a guard, where a framework wants another shape than the guard has: the audit
 * finds only what it is told.
 *
 * @example
 * const payments = guard(hapax, { name: 'payments.create', scope: tenantOf }, pay)
 * app.post('/payments', guardedBy(payments, (c) => payments(c.req.raw)))
 */
export function guardedBy<F extends (...given: never[]) => unknown>(guard: unknown, handler: F): F {
  const mark = markOf(guard)
  if (mark === undefined) throw new HapaxError('policy_invalid', 'guardedBy() takes what guard() has returned.')
  return Object.assign(handler, { [guardMark]: mark })
}

interface FastifyRoute {
  readonly method: string | string[]
  readonly url: string
  readonly handler: unknown
  readonly onRequest?: unknown
}

/** What a second one of these does is what the first did, if it is implemented as it is defined. */
const idempotent = ['PUT', 'DELETE']

function judged(routes: readonly FoundRoute[], options: RouteAuditOptions): readonly GuardedRoute[] {
  const verdicts = routes
    .map(({ method, ...route }) => ({ ...route, method: method.toUpperCase() }))
    .filter(({ method }) => changing.includes(method))
    .map(({ method, path, guard, note }): GuardedRoute => {
      const route = { method, path, ...(note !== undefined && { note }) }
      if (guard?.methods.includes(method)) return { ...route, verdict: 'guarded', by: guard.name }
      return { ...route, verdict: idempotent.includes(method) ? 'idempotent' : 'gap' }
    })
  return exempting(verdicts, options)
}

/** The same routes, without a verdict on those of which somebody says that they need no key. */
export function exempting(
  routes: readonly GuardedRoute[],
  { exempt = [] }: RouteAuditOptions,
): readonly GuardedRoute[] {
  const exempted = exempt.map(patternOf)
  return routes.map((route) => {
    const isExempt = exempted.some((pattern) => pattern.test(`${route.method} ${route.path}`))
    return isExempt && route.verdict !== 'guarded' ? { ...route, verdict: 'exempt' } : route
  })
}

function patternOf(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`)
}

/** Known by its shape, as every tool here. */
async function found(app: unknown): Promise<readonly FoundRoute[]> {
  const given = (app ?? {}) as Shape
  if (typeof given.paths === 'object' && typeof given.openapi === 'string') return openApiRoutes(given as OpenApiShape)
  if (typeof given.getHttpAdapter === 'function') return found(given.getHttpAdapter().getInstance())
  if (typeof given.printRoutes === 'function') return inFastify(given as FastifyShape)
  if (Array.isArray(given.routes)) return inHono(given.routes)
  // Express 4 throws at whoever asks for what Express 5 has.
  const stack = given._router?.stack ?? given.stack ?? given.router?.stack
  if (Array.isArray(stack)) return expressRoutes(stack)
  const known = 'a Fastify, Express, Hono or Nest application, or an OpenAPI document'
  throw new HapaxError('policy_invalid', `routesOf() was given something that is none of these: ${known}.`)
}

interface Shape {
  readonly openapi?: unknown
  readonly paths?: unknown
  readonly getHttpAdapter?: () => { getInstance(): unknown }
  readonly printRoutes?: unknown
  readonly routes?: unknown
  readonly router?: { readonly stack?: unknown }
  readonly _router?: { readonly stack?: unknown }
  readonly stack?: unknown
}

interface FastifyShape {
  ready?(): PromiseLike<unknown>
  printRoutes(options: object): string
}

/** What it prints is all that it tells afterwards: of each route its methods, and the names of its hooks. */
async function inFastify(app: FastifyShape): Promise<readonly FoundRoute[]> {
  await app.ready?.()
  const routes: { path: string; methods: string[]; hooks: string }[] = []
  const parents: string[] = []
  for (const line of app.printRoutes({ commonPrefix: false, includeHooks: true }).split('\n')) {
    // A path whose methods have different hooks has a line for each of them, of which only the first is a branch.
    const [, indent = '', path = '', methods = ''] =
      /^((?:[│ ] {3})*(?:[├└]── )?)([^\s•]\S*)(?: \(([^)]*)\))?/.exec(line) ?? []
    if (indent !== '') {
      const depth = indent.length / 4
      parents.length = depth - 1
      parents[depth - 1] = path
      if (methods !== '') routes.push({ path: parents.join(''), methods: methods.split(', '), hooks: '' })
    } else if (line.includes('• (')) {
      const last = routes.at(-1)
      if (last !== undefined) last.hooks += line
    }
  }
  return routes.flatMap(({ path, methods, hooks }) => {
    const guard = hooks.includes('hapaxGuard') ? { name: path, methods: changing } : undefined
    return methods.map((method) => ({ method, path, guard }))
  })
}

interface HonoRoute {
  readonly method: string
  readonly path: string
  readonly handler: unknown
}

/** What is mounted there (`app.mount`) is not seen: it looks like what stands before a route, and knows its own routes only. */
function inHono(routes: readonly HonoRoute[]): readonly FoundRoute[] {
  return routes
    .filter((route) => route.method !== 'ALL' || answers(route))
    .flatMap((route) => (route.method === 'ALL' ? changing.map((method) => ({ ...route, method })) : [route]))
    .filter(
      (route, index, all) => all.findIndex((one) => one.method === route.method && one.path === route.path) === index,
    )
    .map(({ method, path }) => {
      // A route may have several functions, each an entry of its own.
      const passed = routes.filter((one) => one.path === path && (one.method === method || one.method === 'ALL'))
      return { method, path, ...guardAmong(passed.map(unwrapped), method, 1) }
    })
}

/** What takes a `next` stands before a route; what does not is one, for every method. */
function answers({ handler }: HonoRoute): boolean {
  return typeof handler === 'function' && handler.length < 2
}

/** An application within another that handles its own errors is wrapped, and what was wrapped is kept. */
function unwrapped({ handler }: HonoRoute): unknown {
  return (handler as { __COMPOSED_HANDLER?: unknown } | undefined)?.__COMPOSED_HANDLER ?? handler
}
