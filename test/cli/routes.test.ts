import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import 'reflect-metadata'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Controller, type INestApplication, Module, Patch, Post, Put } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { engine } from 'hapax'
import { guardedBy, routesOf } from 'hapax/admin'
import { guard as guardExpress } from 'hapax/express'
import { guard as guardFetch } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { type Context, Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'

/** The audit of routes on the frameworks themselves, where what it calls guarded is guarded indeed. */

const hapax = engine({ store: memoryStore(), log: () => {} })
const options = { name: 'payments.create', scope: () => 'acme' }

function guardedHono() {
  let runs = 0
  const payments = guardFetch(hapax, options, async () => Response.json({ run: ++runs }, { status: 201 }))
  const app = new Hono()
  app.use('*', async (_, next) => next())
  app.post(
    '/payments',
    guardedBy(payments, (c: Context) => payments(c.req.raw)),
  )
  const inner = new Hono()
  inner.onError((_, c) => c.text('', 500))
  inner.patch(
    '/payments',
    guardedBy(payments, (c: Context) => payments(c.req.raw)),
  )
  inner.post('/refunds', (c) => c.json({}))
  app.route('/v1', inner)
  app.put('/users/:id', (c) => c.json({}))
  app.get('/payments', (c) => c.json({}))
  app.all('/hooks', (c) => c.json({}))
  return app
}

test('of Hono, with applications in it, and what takes every method', async () => {
  const app = guardedHono()
  expect(await routesOf(app, { exempt: ['* /hooks'] })).toEqual([
    { method: 'POST', path: '/payments', verdict: 'guarded', by: 'payments.create' },
    { method: 'PATCH', path: '/v1/payments', verdict: 'guarded', by: 'payments.create' },
    { method: 'POST', path: '/v1/refunds', verdict: 'gap' },
    { method: 'PUT', path: '/users/:id', verdict: 'idempotent' },
    ...['POST', 'PATCH', 'PUT', 'DELETE'].map((method) => ({ method, path: '/hooks', verdict: 'exempt' })),
  ])
  const pay = () => app.request('/payments', { method: 'POST', headers: { 'idempotency-key': 'of-hono' } })
  const [first, retry] = [await pay(), await pay()]
  expect(retry.headers.get('idempotent-replayed')).toBe('true')
  expect(await retry.text()).toBe(await first.text())
})

test('of Hono, a guard behind what answers guards nothing', async () => {
  const app = new Hono()
  const payments = guardFetch(hapax, options, async () => Response.json({}))
  app.post('/late', (c) => c.json({}))
  app.post(
    '/late',
    guardedBy(payments, (c: Context) => payments(c.req.raw)),
  )
  app.post(
    '/checked',
    async (_, next) => next(),
    guardedBy(payments, (c: Context) => payments(c.req.raw)),
  )
  expect(await routesOf(app)).toMatchObject([
    { path: '/late', verdict: 'gap', note: expect.stringContaining('put the guard first') },
    { path: '/checked', verdict: 'guarded' },
  ])
})

test('of Hono, what is mounted and what takes every method with a next are gaps that say what to do', async () => {
  const app = new Hono()
  app.use('*', async (_, next) => next())
  app.use('/v1/*', async (_, next) => next())
  app.mount('/legacy', () => new Response('charged'))
  app.all('/pay', async (c, _next) => c.text('charged'))
  app.get('/pay', (c) => c.text(''))
  const inner = new Hono()
  inner.onError((_, c) => c.text('', 500))
  inner.all('/any', (c) => c.text('charged'))
  inner.mount('/old', () => new Response('charged'))
  app.route('/v1', inner)
  app.post('/legacy/orders', (c) => c.text(''))
  app.get('*', (c) => c.text(''))
  expect((await app.request('/pay', { method: 'POST' })).status).toBe(200)
  expect(await routesOf(app, { exempt: ['P* /v1/any', 'DELETE *'] })).toEqual([
    { method: 'POST', path: '/legacy/*', verdict: 'gap', note: expect.stringContaining('mounted') },
    { method: 'POST', path: '/pay', verdict: 'gap', note: expect.stringContaining('if it answers, guard it') },
    ...['POST', 'PATCH', 'PUT', 'DELETE'].map((method) => ({ method, path: '/v1/any', verdict: 'exempt' })),
    { method: 'POST', path: '/v1/old/*', verdict: 'gap', note: expect.stringContaining('mounted') },
    { method: 'POST', path: '/legacy/orders', verdict: 'gap' },
  ])
})

test('of Hono, what stands only before what reads is no gap', async () => {
  const app = new Hono()
  app.use('*', async (_, next) => next())
  app.use('/pages/:id/*', async (_, next) => next())
  app.get('/pages/:id', (c) => c.text(''))
  expect(await routesOf(app)).toEqual([])
})

/** Decorators, as a compiler would have applied them. */
class Payments {
  static runs = 0
  pay() {
    return { run: ++Payments.runs }
  }
  refund() {
    return {}
  }
  change() {
    return {}
  }
  replace() {
    return {}
  }
}
const described = (name: keyof Payments) =>
  [Payments.prototype, name, Object.getOwnPropertyDescriptor(Payments.prototype, name) as PropertyDescriptor] as const
Post('payments')(...described('pay'))
Post('refunds')(...described('refund'))
Patch('payments/:id')(...described('change'))
Put('users/:id')(...described('replace'))
Controller('v1')(Payments)
class PaymentsModule {}
Module({ controllers: [Payments] })(PaymentsModule)

const passedOn = () => guardExpress(hapax, { ...options, name: 'nest.payments' }, (_request, _response, next) => next())

async function nest(app: INestApplication): Promise<string> {
  onTestFinished(() => app.close())
  await app.listen(0, '127.0.0.1')
  return app.getUrl()
}

test('of Nest on Express, where a guard stands before a path, and a retry through it gets the same answer', async () => {
  const app = await NestFactory.create(PaymentsModule, { logger: false })
  app.use('/v1/payments', passedOn())
  const url = await nest(app)
  expect(await routesOf(app)).toEqual([
    { method: 'POST', path: '/v1/payments', verdict: 'guarded', by: 'nest.payments' },
    { method: 'POST', path: '/v1/refunds', verdict: 'gap' },
    { method: 'PATCH', path: '/v1/payments/:id', verdict: 'guarded', by: 'nest.payments' },
    { method: 'PUT', path: '/v1/users/:id', verdict: 'idempotent' },
  ])
  const pay = () => fetch(`${url}/v1/payments`, { method: 'POST', headers: { 'idempotency-key': 'of-nest' } })
  const [first, retry] = [await pay(), await pay()]
  expect(retry.headers.get('idempotent-replayed')).toBe('true')
  expect(await retry.text()).toBe(await first.text())
})

test('of Nest on Fastify, where nothing guards a controller', async () => {
  const app = await NestFactory.create(PaymentsModule, new FastifyAdapter(), { logger: false })
  await nest(app)
  const found = await routesOf(app)
  expect(found.map(({ method, path, verdict }) => `${method} ${path} ${verdict}`).sort()).toEqual([
    'PATCH /v1/payments/:id gap',
    'POST /v1/payments gap',
    'POST /v1/refunds gap',
    'PUT /v1/users/:id idempotent',
  ])
})

test('only what guard() has returned says that something is guarded', () => {
  expect(() =>
    guardedBy(
      () => {},
      () => {},
    ),
  ).toThrow(/guard\(\)/)
})

/** Applications as people write them, and what the command says: a gap, and then that it is exempt. */
const root = fileURLToPath(new URL('../..', import.meta.url))
const apps = {
  'hono, mounted': `import { Hono } from 'hono'
export const app = new Hono()
app.mount('/refunds', () => new Response('refunded'))`,
  'fastify, with a wildcard': `import { fastify } from 'fastify'
export const app = fastify()
app.get('/refund', async () => ({}))
app.post('/refunds/*', async () => ({}))`,
  'express, at a path': `import express from 'express'
export const app = express().use('/refunds', (request, response) => response.json({}))`,
  hono: `import { Hono } from 'hono'
export const app = new Hono()
app.post('/refunds', (c) => c.json({}))`,
  nest: `import 'reflect-metadata'
import { Controller, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
class Refunds { refund() {} }
Post('refunds')(Refunds.prototype, 'refund', Object.getOwnPropertyDescriptor(Refunds.prototype, 'refund'))
Controller()(Refunds)
class All {}
Module({ controllers: [Refunds] })(All)
export const app = await NestFactory.create(All, { logger: false })
await app.init()`,
  express: `import express from 'express'
export default express().post('/refunds', (request, response) => response.json({}))`,
  fastify: `import { fastify } from 'fastify'
export const app = fastify()
app.post('/refunds', async () => ({}))`,
}

test.each(Object.entries(apps))('hapax routes exits 1 on a gap of an application of %s', (name, source) => {
  // Within the project, so that its packages are found.
  const folder = mkdtempSync(join(root, 'test/admin/.routes-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, `${name.split(',')[0]}.mjs`)
  writeFileSync(file, source)
  const run = (...flags: readonly string[]) =>
    spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), 'routes', file, ...flags], {
      encoding: 'utf8',
      timeout: 60_000,
    })
  const gap = run()
  expect(gap).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/POST +\/refunds(\/\*)? +gap\s[\s\S]*1 gap\.\n$/),
  })
  expect(run('--exempt', 'POST /refunds*')).toMatchObject({ status: 0, stdout: expect.stringContaining('No gap.') })
})

test('hapax routes says of a document in YAML how to convert it', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(root, 'dist/cli/main.js'), 'routes', 'api/openapi.yml'],
    {
      encoding: 'utf8',
      timeout: 60_000,
    },
  )
  expect(status).toBe(2)
  expect(stderr).toBe(
    'hapax: api/openapi.yml is YAML, and only JSON is read. Convert it: npx js-yaml api/openapi.yml > api/openapi.json\n',
  )
})
