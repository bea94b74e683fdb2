import { createRequire } from 'node:module'
import express from 'express'
import { fastify } from 'fastify'
import { engine } from 'hapax'
import { routeCollector, routesOf } from 'hapax/admin'
import { guard as guardExpress } from 'hapax/express'
import { guard as guardFastify } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { expect, test } from 'vitest'

const express4 = createRequire(import.meta.url)('express4') as typeof express

/** Which routes change something, and which of them nothing guards. */

const hapax = engine({ store: memoryStore(), log: () => {} })
const options = { name: 'payments.create', scope: () => 'acme' }
const handler = async () => ({})

function fastifyApp() {
  const app = fastify()
  const routes = routeCollector(app as never, { exempt: ['POST /login'] })
  app.post('/payments', guardFastify(hapax, options, { handler }))
  app.post('/refunds', handler)
  app.post('/login', handler)
  app.put('/users/:id', handler)
  app.get('/payments', handler)
  app.register(async (inner) => void inner.patch('/orders', handler), { prefix: '/v1' })
  return { app, routes }
}

const wanted = [
  { method: 'POST', path: '/payments', verdict: 'guarded' },
  { method: 'POST', path: '/refunds', verdict: 'gap' },
  { method: 'POST', path: '/login', verdict: 'exempt' },
  { method: 'PUT', path: '/users/:id', verdict: 'idempotent' },
  { method: 'PATCH', path: '/v1/orders', verdict: 'gap' },
] as const

test('of Fastify, as they are added', async () => {
  const { app, routes } = fastifyApp()
  await app.ready()
  expect(routes()).toMatchObject(wanted)
  expect(routes()[0]?.by).toBe('payments.create')
})

test('of Fastify, when they are all there', async () => {
  const { app } = fastifyApp()
  const found = await routesOf(app, { exempt: ['POST /log*'] })
  expect(found).toHaveLength(wanted.length)
  expect(found).toEqual(expect.arrayContaining(wanted.map((route) => expect.objectContaining(route))))
})

test.each([
  ['5', express],
  ['4', express4],
])('of Express %s, with routers in it', async (_, framework) => {
  const app = framework()
  app.post(
    '/payments',
    guardExpress(hapax, options, (_request, response) => void response.json({})),
  )
  app.post('/refunds', (_request, response) => void response.json({}))
  const router = framework.Router()
  router.patch('/orders', (_request, response) => void response.json({}))
  app.use('/v1', router)
  app.get('/payments', (_request, response) => void response.json({}))
  expect(await routesOf(app)).toMatchObject([
    { method: 'POST', path: '/payments', verdict: 'guarded' },
    { method: 'POST', path: '/refunds', verdict: 'gap' },
    { method: 'PATCH', path: '/v1/orders', verdict: 'gap' },
  ])
})

const answer = (_request: unknown, response: { json(body: object): void }) => response.json({})

/** Where routers are mounted, in each version, and where that leads. */
const mounts = [
  ['5', express, '/', ['/orders']],
  ['5', express, '/v1', ['/v1/orders']],
  ['5', express, '/v1/', ['/v1/orders']],
  ['5', express, '/a.b~c $d', ['/a.b~c $d/orders']],
  ['5', express, '/users/:id', ['/users/:id/orders']],
  ['5', express, '/users/:b/of/:a', ['/users/:b/of/:a/orders']],
  ['5', express, '/:a-:b', ['/:a-:b/orders']],
  ['5', express, '/files/*rest', ['/files/*rest/orders']],
  ['5', express, '/x{/:y}', ['/x/:y/orders', '/x/orders']],
  ['5', express, ['/a', '/b'], ['/a/orders', '/b/orders']],
  ['5', express, /^\/v\d/, ['…/orders']],
  ['4', express4, '/', ['/orders']],
  ['4', express4, '/v1', ['/v1/orders']],
  ['4', express4, '/v1.0/', ['/v1.0/orders']],
  ['4', express4, '/users/:id', ['/users/:id/orders']],
  ['4', express4, '/:a-:b', ['/:a-:b/orders']],
  ['4', express4, '/:id(\\d+)', ['/:id/orders']],
  ['4', express4, '/files/*', ['/files/*/orders']],
  ['4', express4, ['/a', '/b'], ['/a/orders', '/b/orders']],
  ['4', express4, '/a(b)?c', ['…/orders']],
  ['4', express4, /^\/v\d/, ['…/orders']],
] as const

test.each(mounts)('Express %s: what is mounted is shown where it is', async (_, framework, mount, paths) => {
  const app = framework()
  const router = framework.Router()
  router.post('/orders', answer as never)
  const outer = framework.Router()
  outer.use(mount as string, router)
  app.use('/api', outer)
  const routes = await routesOf(app)
  expect(routes.map(({ path }) => path)).toEqual(paths.map((path) => `/api${path}`))
  const isKnown = !paths.some((path) => path.startsWith('…'))
  for (const { note } of routes)
    expect(note).toEqual(isKnown ? undefined : expect.stringContaining('mount it at a path'))
  expect(RegExp.prototype.exec.toString()).toContain('[native code]')
})

test.each([
  ['5', express],
  ['4', express4],
])('Express %s: what guards a path guards the routers behind it, and those before it not', async (_, framework) => {
  const app = framework()
  const routerOf = () => {
    const router = framework.Router()
    router.post('/', answer as never)
    return router
  }
  app.use('/early/payments', routerOf())
  app.use(
    '/v1/payments',
    guardExpress(hapax, options, (_request, _response, next) => next()),
  )
  const v1 = framework.Router()
  v1.use('/payments', routerOf())
  v1.use('/refunds', routerOf())
  app.use('/v1', v1)
  expect(await routesOf(app)).toMatchObject([
    { path: '/early/payments', verdict: 'gap' },
    { path: '/v1/payments', verdict: 'guarded', by: 'payments.create' },
    { path: '/v1/refunds', verdict: 'gap' },
  ])
})

test.each([
  ['5', express],
  ['4', express4],
])('Express %s: an application within another is a gap that says what to do', async (_, framework) => {
  const app = framework()
  const inner = framework()
  inner.post('/orders', answer as never)
  app.use('/shop', inner)
  expect(await routesOf(app)).toEqual([
    { method: 'POST', path: '/shop/*', verdict: 'gap', note: expect.stringContaining('by itself') },
  ])
  expect(await routesOf(app, { exempt: ['POST /shop/*'] })).toMatchObject([{ verdict: 'exempt' }])
})

test.each([
  ['5', express],
  ['4', express4],
])(
  'Express %s: what answers at a path for every method is a gap, and what says that nothing was found is none',
  async (_, framework) => {
    const app = framework()
    app.use('/pay', answer as never)
    app.use(passing as never)
    app.use(
      '/later',
      guardExpress(hapax, options, (_request, _response, next) => next()),
      answer as never,
    )
    app.use('/v1', framework.Router().use(answer as never))
    app.use(answer as never)
    app.use(((_error: unknown, _request: unknown, _response: unknown, _next: unknown) => {}) as never)
    const note = expect.stringContaining('guard it, or exempt this')
    expect(await routesOf(app)).toEqual([
      { method: 'POST', path: '/pay/*', verdict: 'gap', note },
      { method: 'POST', path: '/later/*', verdict: 'guarded', by: 'payments.create' },
      { method: 'POST', path: '/v1/*', verdict: 'gap', note },
    ])
  },
)

const passing = (_request: unknown, _response: unknown, next: () => void) => next()
const guarding = () => guardExpress(hapax, options, (_request, response) => void response.json({}))

test.each([
  ['5', express],
  ['4', express4],
])('Express %s: a guard for one method of a route guards no other', async (_, framework) => {
  const app = framework()
  app
    .route('/charges')
    .post(answer as never)
    .patch(passing as never, guarding())
  app
    .route('/refunds')
    .all(guardExpress(hapax, options, (_request, _response, next) => next()))
    .post(answer as never)
  expect((await routesOf(app)).map(({ method, path, verdict }) => `${method} ${path} ${verdict}`)).toEqual([
    'POST /charges gap',
    'PATCH /charges guarded',
    'POST /refunds guarded',
    'PATCH /refunds guarded',
    'PUT /refunds idempotent',
    'DELETE /refunds idempotent',
  ])
})

test.each([
  ['5', express],
  ['4', express4],
])('Express %s: a guard behind what answers guards nothing, and one behind what goes on does', async (_, framework) => {
  const app = framework()
  app.post('/late', answer as never, guarding())
  app.post('/checked', passing as never, guarding())
  expect(await routesOf(app)).toEqual([
    { method: 'POST', path: '/late', verdict: 'gap', note: expect.stringContaining('put the guard first') },
    { method: 'POST', path: '/checked', verdict: 'guarded', by: 'payments.create' },
  ])
})

test('Fastify: a guard for one method of a path guards no other', async () => {
  const app = fastify()
  app.post('/charges', handler)
  app.patch('/charges', guardFastify(hapax, options, { handler }))
  const found = (await routesOf(app)).map(({ method, verdict }) => `${method} ${verdict}`)
  expect(found.sort()).toEqual(['PATCH guarded', 'POST gap'])
})

/** Each beside others, since what routes have in common is what Fastify prints in pieces. */
const odd: readonly (readonly string[])[] = [
  ['/w', '/webhooks/*'],
  ['/files/:name(^[a-z ]+$)/copies', '/files/:name/x', '/files/list'],
  ['/a b', '/a', '/a/ c'],
  ['/a::b', '/a/:b/c::d', '/:a-:b/z'],
  ['/50%', '/5'],
  ['/users/:id/x', '/users/:user/y'],
  ['*', '/'],
  ['/x (POST)', '/x'],
]

test.each(odd.map((paths) => [paths[0], paths] as const))(
  'Fastify: no route is lost or shown elsewhere, as %s',
  async (_, paths) => {
    const app = fastify()
    for (const path of paths) app.post(path, handler)
    const reached = (await routesOf(app)).map(({ path }) => path)
    expect(reached).toHaveLength(paths.length)
    // Of two names of one place either is true.
    const plain = (path: string) => path.replace(':user', ':id')
    expect(reached.map(plain).sort()).toEqual(paths.map(plain).sort())
  },
)

test('Fastify: of two versions of a route one may be a gap', async () => {
  const app = fastify()
  app.route({
    method: 'POST',
    url: '/v',
    constraints: { version: '1.0.0' },
    ...guardFastify(hapax, options, { handler }),
  } as never)
  app.route({ method: 'POST', url: '/v', constraints: { version: '2.0.0' }, handler })
  app.route({ method: 'POST', url: '/v', constraints: { host: /^a\.(b|c)$/ }, handler })
  expect((await routesOf(app)).map(({ path, verdict }) => `${path} ${verdict}`).sort()).toEqual([
    '/v gap',
    '/v gap',
    '/v guarded',
  ])
})

test('Fastify: a route that is printed and not found again is an error that says what to do', async () => {
  const app = fastify()
  app.post('/payments', handler)
  await app.ready()
  const other = { printRoutes: (given: object) => app.printRoutes(given), hasRoute: () => false }
  await expect(routesOf(other)).rejects.toThrow(/POST \/payments.*routeCollector\(app\)/)
})

test('of an OpenAPI document, by the header that they take', async () => {
  const parameters = [{ $ref: '#/components/parameters/Key' }]
  const document = {
    openapi: '3.1.0',
    paths: {
      '/payments': { post: { operationId: 'pay', parameters }, get: {} },
      '/refunds': { post: { parameters: [{ in: 'query', name: 'idempotency-key' }] } },
    },
    components: { parameters: { Key: { in: 'header', name: 'Idempotency-Key' } } },
  }
  expect(await routesOf(document)).toMatchObject([
    { path: '/payments', verdict: 'guarded', by: 'pay' },
    { path: '/refunds', verdict: 'gap' },
  ])
})

test('of an OpenAPI document whose paths stand elsewhere, and take the key together', async () => {
  const key = { in: 'header', name: 'Idempotency-Key' }
  const document = {
    openapi: '3.1.0',
    paths: {
      '/payments': { $ref: '#/components/pathItems/pay~1ments' },
      '/refunds': { parameters: [key], post: {}, patch: {} },
      '/logins': { post: { 'x-idempotency': false } },
      '/orders': { $ref: 'orders.json#/paths/~1orders' },
      '/around': { $ref: '#/paths/~1around' },
    },
    components: { pathItems: { 'pay/ments': { post: { operationId: 'pay' } } } },
  }
  const isBundled = expect.stringContaining('bundle')
  expect(await routesOf(document)).toEqual([
    { method: 'POST', path: '/payments', verdict: 'gap' },
    { method: 'POST', path: '/refunds', verdict: 'guarded', by: 'POST /refunds' },
    { method: 'PATCH', path: '/refunds', verdict: 'guarded', by: 'PATCH /refunds' },
    { method: 'POST', path: '/logins', verdict: 'gap' },
    { method: 'POST', path: '/orders', verdict: 'gap', note: isBundled },
    { method: 'POST', path: '/around', verdict: 'gap', note: isBundled },
  ])
})

test('what is none of these is refused', async () => {
  await expect(routesOf({ hello: 1 })).rejects.toMatchObject({ code: 'policy_invalid' })
})
