import { type GuardMark, guardMark, markOf } from '../http/guard-mark.js'
import { HapaxError } from '../kernel/errors.js'

/** A route that changes something, and what becomes of a request that comes twice. */
export interface GuardedRoute {
  readonly method: string
  readonly path: string
  /** `idempotent`: by its method, PUT or DELETE. `exempt`: somebody said so. `gap`: nothing keeps it from running twice. */
  readonly verdict: 'guarded' | 'idempotent' | 'exempt' | 'gap'
  /** What guards it. */
  readonly by?: string
}

export interface RouteAuditOptions {
  /** Routes that need no key, as `POST /login`, each for a reason of yours; `*` stands for anything. */
  readonly exempt?: readonly string[]
}

/** A route as its framework has it. */
interface FoundRoute {
  readonly method: string
  readonly path: string
  readonly guard: GuardMark | undefined
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

const changing = ['POST', 'PATCH', 'PUT', 'DELETE']
/** What a second one of these does is what the first did, if it is implemented as it is defined. */
const idempotent = ['PUT', 'DELETE']

function judged(routes: readonly FoundRoute[], { exempt = [] }: RouteAuditOptions): readonly GuardedRoute[] {
  const exempted = exempt.map(patternOf)
  return routes
    .map(({ method, ...route }) => ({ ...route, method: method.toUpperCase() }))
    .filter(({ method }) => changing.includes(method))
    .map(({ method, path, guard }): GuardedRoute => {
      if (guard?.methods.includes(method)) return { method, path, verdict: 'guarded', by: guard.name }
      if (exempted.some((pattern) => pattern.test(`${method} ${path}`))) return { method, path, verdict: 'exempt' }
      return { method, path, verdict: idempotent.includes(method) ? 'idempotent' : 'gap' }
    })
}

function patternOf(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`)
}

/** Known by its shape, as every tool here. */
async function found(app: unknown): Promise<readonly FoundRoute[]> {
  const given = (app ?? {}) as Shape
  if (typeof given.paths === 'object' && typeof given.openapi === 'string') return inOpenApi(given as OpenApiShape)
  if (typeof given.getHttpAdapter === 'function') return found(given.getHttpAdapter().getInstance())
  if (typeof given.printRoutes === 'function') return inFastify(given as FastifyShape)
  if (Array.isArray(given.routes)) return inHono(given.routes)
  // Express 4 throws at whoever asks for what Express 5 has.
  const stack = given._router?.stack ?? given.stack ?? given.router?.stack
  if (Array.isArray(stack)) return inExpress(stack, '')
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

interface OpenApiShape {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components?: { readonly parameters?: Readonly<Record<string, Parameter>> }
}

interface OpenApiOperation {
  readonly operationId?: string
  readonly parameters?: readonly (Parameter & { readonly $ref?: string })[]
  readonly 'x-idempotency'?: unknown
}

interface Parameter {
  readonly in?: string
  readonly name?: string
}

function inOpenApi({ paths, components }: OpenApiShape): readonly FoundRoute[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => changing.includes(method.toUpperCase()))
      .map(([method, operation]) => {
        const asked = (operation.parameters ?? []).map(({ $ref, ...own }) =>
          $ref === undefined ? own : (components?.parameters?.[$ref.split('/').at(-1) ?? ''] ?? own),
        )
        const takesKey = asked.some((one) => one.in === 'header' && /^(x-)?idempotency-key$/i.test(one.name ?? ''))
        const isGuarded = takesKey || operation['x-idempotency'] !== undefined
        const name = operation.operationId ?? `${method.toUpperCase()} ${path}`
        return { method, path, guard: isGuarded ? { name, methods: changing } : undefined }
      }),
  )
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
    const [, indent = '', path = '', methods = ''] = /^([│ ]*[├└]── )(\S+)(?: \(([^)]*)\))?/.exec(line) ?? []
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
  const guards = routes.filter(({ handler }) => honoMark(handler) !== undefined)
  return routes
    .filter((route) => route.method !== 'ALL' || answers(route))
    .flatMap((route) => (route.method === 'ALL' ? changing.map((method) => ({ ...route, method })) : [route]))
    .map(({ method, path, handler }) => {
      // A route may have several functions, each an entry of its own: one that guards, guards them all.
      const guard = guards.find((one) => one.path === path && (one.method === method || one.method === 'ALL'))
      return { method, path, guard: honoMark(handler) ?? honoMark(guard?.handler) }
    })
    .filter(
      (route, index, all) => all.findIndex((one) => one.method === route.method && one.path === route.path) === index,
    )
}

/** What takes a `next` stands before a route; what does not is one, for every method. */
function answers({ handler }: HonoRoute): boolean {
  return typeof handler === 'function' && handler.length < 2
}

/** An application within another that handles its own errors is wrapped, and what was wrapped is kept. */
function honoMark(handler: unknown): GuardMark | undefined {
  return markOf(handler) ?? markOf((handler as { __COMPOSED_HANDLER?: unknown } | undefined)?.__COMPOSED_HANDLER)
}

interface Layer {
  readonly route?: {
    readonly path: string
    readonly stack: readonly { readonly method?: string; readonly handle: unknown }[]
  }
  readonly handle?: unknown
  match?(path: string): boolean
}

/**
 * What guards a path (`app.use('/payments', guard(…))`) guards the routes behind it that it leads to, as those of Nest. A
 * router that is mounted does not say where: what is in it is shown below `…`.
 */
function inExpress(stack: readonly Layer[], prefix: string): readonly FoundRoute[] {
  return stack.flatMap(({ route, handle }, index) => {
    if (route !== undefined) {
      const methods = [...new Set(route.stack.map(({ method = 'all' }) => method.toUpperCase()))]
      const before = stack.slice(0, index).filter((layer) => layer.route === undefined && leadsTo(layer, route.path))
      const guards = [...route.stack, ...before]
        .map(({ handle }) => markOf(handle))
        .filter((mark) => mark !== undefined)
      return methods
        .flatMap((method) => (method === 'ALL' ? changing : [method]))
        .map((method) => ({
          method,
          path: `${prefix}${route.path}`,
          guard: guards.find(({ methods }) => methods.includes(method)),
        }))
    }
    const inner = (handle as { stack?: readonly Layer[] } | undefined)?.stack
    return Array.isArray(inner) ? inExpress(inner, `${prefix}…`) : []
  })
}

function leadsTo(layer: Layer, path: string): boolean {
  return markOf(layer.handle) !== undefined && layer.match?.(path) === true
}
