import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type ErrorRequestHandler } from 'express'
import fastify from 'fastify'
import type { Engine, KeyStatusOptions } from 'hapax'
import type { HttpRoute, Said, Served } from 'hapax/conformance'
import { guard as expressGuard, keyStatus as expressStatus } from 'hapax/express'
import { guard as fastifyGuard, keyStatus as fastifyStatus } from 'hapax/fastify'
import { guard as fetchGuard, keyStatus as fetchStatus } from 'hapax/fetch'
import { guard as nodeGuard, keyStatus as nodeStatus } from 'hapax/node'
import { collected, listening } from '../../support/http-serving.js'

/** The same API in the words of each framework, with everything that its owner mounts beside the guarded routes. */

export interface Page {
  readonly type: string
  readonly text: string
}

type Header = (name: string) => string | undefined

export interface ServedApi {
  /** Authentication, which stands in front of everything. */
  readonly admits: (header: Header) => boolean
  readonly routes: readonly (Omit<HttpRoute, 'handler'> & {
    readonly handler: (body: Uint8Array) => Promise<Said>
  })[]
  readonly status: { readonly scope: HttpRoute['scope']; readonly options: Omit<KeyStatusOptions<unknown>, 'scope'> }
  readonly pages: Readonly<Record<string, () => Page>>
}

const statusPath = '/idempotency/key'
const [forbidden, absent, failed] = [403, 404, 500]

export const serving: Readonly<Record<string, (hapax: Engine<never>, api: ServedApi) => Promise<Served>>> = {
  async express(hapax, { admits, routes, status, pages }) {
    const app = express()
    app.use((request, response, next) => {
      if (admits((name) => request.get(name))) next()
      else response.status(forbidden).end('forbidden')
    })
    app.get(
      statusPath,
      expressStatus(hapax, { ...status.options, scope: (request) => status.scope((name) => request.get(name)) }),
    )
    for (const [path, page] of Object.entries(pages))
      app.get(path, (_request, response) => void response.type(page().type).send(page().text))
    for (const { path, options, scope, handler } of routes) {
      const scoped = { ...options, scope: (request: express.Request) => scope((name) => request.get(name)) }
      app.all(
        path,
        expressGuard(hapax, scoped, async (request, response) => {
          const said = await handler(await collected(request))
          response.statusCode = said.status
          for (const [name, value] of said.headers ?? []) response.appendHeader(name, value)
          response.end(await collected(said.body))
        }),
      )
    }
    const onError: ErrorRequestHandler = (_error, _request, response, _next) => void response.status(failed).end()
    app.use(onError)
    return listening(app)
  },

  async fastify(hapax, { admits, routes, status, pages }) {
    const app = fastify({ forceCloseConnections: true })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.setErrorHandler((_error, _request, reply) => reply.code(failed).send())
    app.addHook('onRequest', async (request, reply) => {
      if (!admits(headerOf(request.headers))) return reply.code(forbidden).send('forbidden')
    })
    const statusScope = (request: fastify.FastifyRequest) => status.scope(headerOf(request.headers))
    app.get(statusPath, fastifyStatus(hapax, { ...status.options, scope: statusScope }))
    for (const [path, page] of Object.entries(pages))
      app.get(path, (_request, reply) => reply.type(page().type).send(page().text))
    for (const { path, options, scope, handler } of routes) {
      const scoped = { ...options, scope: (request: fastify.FastifyRequest) => scope(headerOf(request.headers)) }
      app.all(
        path,
        fastifyGuard(hapax, scoped, {
          async handler({ body }, reply) {
            const said = await handler(Buffer.isBuffer(body) ? body : new Uint8Array())
            for (const [name, value] of said.headers ?? []) reply.header(name, value)
            return reply.code(said.status).send(Buffer.from(await collected(said.body)))
          },
        }),
      )
    }
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
  },

  async fetch(hapax, { admits, routes, status, pages }) {
    const mounted = new Map<string, (request: Request) => Promise<Response>>()
    const headerIn = (request: Request) => (name: string) => request.headers.get(name) ?? undefined
    const statusScope = (request: Request) => status.scope(headerIn(request))
    mounted.set(statusPath, fetchStatus(hapax, { ...status.options, scope: statusScope }))
    for (const [path, page] of Object.entries(pages))
      mounted.set(path, async () => new Response(page().text, { headers: { 'content-type': page().type } }))
    for (const { path, options, scope, handler } of routes) {
      const scoped = { ...options, scope: (request: Request) => scope(headerIn(request)) }
      mounted.set(
        path,
        fetchGuard(hapax, scoped, async (request) => {
          const { status, headers = [], body } = await handler(new Uint8Array(await request.arrayBuffer()))
          const pairs = headers.map(([name, value]): [string, string] => [name, value])
          return new Response(body === undefined ? null : Uint8Array.from(await collected(body)), {
            status,
            headers: pairs,
          })
        }),
      )
    }
    return listening(async (incoming, outgoing) => {
      const request = await requestOf(incoming)
      const route = mounted.get(new URL(request.url).pathname)
      if (!admits(headerIn(request))) return void outgoing.writeHead(forbidden).end('forbidden')
      if (route === undefined) return void outgoing.writeHead(absent).end()
      const response = await route(request).catch(() => new Response(null, { status: failed }))
      for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
      outgoing.writeHead(response.status).end(new Uint8Array(await response.arrayBuffer()))
    })
  },

  async node(hapax, { admits, routes, status, pages }) {
    const statusScope = (request: IncomingMessage) => status.scope(headerOf(request.headers))
    const keyStatus = nodeStatus(hapax, { ...status.options, scope: statusScope })
    const guarded = new Map(
      routes.map(({ path, options, scope, handler }) => {
        const scoped = { ...options, scope: (request: IncomingMessage) => scope(headerOf(request.headers)) }
        const guard = nodeGuard(hapax, scoped, async (request, given) => {
          // Where the route does not guard the method, nobody has read it.
          const asked = given.body.byteLength === 0 ? await collected(request) : given.body
          const { status, headers = [], body } = await handler(asked)
          return { status, headers, body: await collected(body) }
        })
        return [path, guard] as const
      }),
    )
    return listening(async (request, response) => {
      const path = request.url?.split('?', 1)[0] ?? ''
      const page = pages[path]?.()
      if (!admits(headerOf(request.headers))) return void response.writeHead(forbidden).end('forbidden')
      if (path === statusPath) return keyStatus(request, response)
      if (page !== undefined) return void response.writeHead(200, { 'content-type': page.type }).end(page.text)
      const route = guarded.get(path)
      if (route === undefined) return void response.writeHead(absent).end()
      await route(request, response).catch(() => response.writeHead(failed).end())
    })
  },
}

function headerOf(headers: IncomingHttpHeaders): Header {
  return (name) => headers[name]?.toString()
}

/** What a runtime of the Fetch API does inside. */
async function requestOf(incoming: IncomingMessage): Promise<Request> {
  const { method = '', url = '', headersDistinct } = incoming
  const headers = Object.entries(headersDistinct).flatMap(([name, lines = []]) =>
    lines.map((line): [string, string] => [name, line]),
  )
  const body = await collected(incoming)
  return new Request(`http://localhost${url}`, {
    method,
    headers,
    ...(body.byteLength > 0 && { body: Uint8Array.from(body) }),
  })
}
