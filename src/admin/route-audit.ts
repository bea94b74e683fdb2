import { guardMark, markOf } from '../http/guard-mark.js'
import { HapaxError } from '../kernel/errors.js'
import { expressRoutes } from './express-routes.js'
import { type FastifyShape, fastifyRoutes } from './fastify-routes.js'
import { changing, type FoundRoute } from './found-route.js'
import { honoRoutes } from './hono-routes.js'
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
  if (typeof given.printRoutes === 'function') return fastifyRoutes(given as FastifyShape)
  if (Array.isArray(given.routes)) return honoRoutes(given.routes)
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
