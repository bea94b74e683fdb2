import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express5, { type Express, type NextFunction, type Request, type Response } from 'express'
// @ts-expect-error: Express 4 comes without types; what is used of it here is as in Express 5.
import untyped from 'express4'
import { engine } from 'hapax'
import { type ExpressHandler, guard, keepRawBody } from 'hapax/express'
import { memoryStore } from 'hapax/memory'

/** What the tests of the Express adapter have in common: both releases of Express, and an application with one route. */

export const expresses: readonly (readonly [string, typeof express5])[] = [
  ['Express 5', express5],
  ['Express 4', untyped],
]

export const options = { name: 'payments.create', scope: () => 'acme' }

export const onMemory = () => engine({ store: memoryStore(), log: () => {} })

const servers: Server[] = []

export function closeAll(): void {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
}

export async function served(app: Express): Promise<string> {
  const server = createServer(app).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/payments`
}

export function post(url: string, key: string, init: RequestInit = {}): Promise<globalThis.Response> {
  const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json', ...init.headers }
  return fetch(url, { method: 'POST', body: '{"cents":5}', redirect: 'manual', ...init, headers })
}

export interface Stand {
  readonly options?: Partial<Parameters<typeof guard>[1]>
  readonly engine?: ReturnType<typeof onMemory>
  /** Stands before the guard. */
  readonly before?: (request: Request, response: Response, next: NextFunction) => void
  /** Stands behind it. */
  readonly behind?: (request: Request, response: Response, next: NextFunction) => unknown
}

/** An application with one guarded route, and how often its handler ran. */
export async function shop(express: typeof express5, handler: ExpressHandler<never>, stand: Stand = {}) {
  const runs = { count: 0 }
  const app = express()
  const counted: ExpressHandler<never> = (request, response, next) => {
    runs.count++
    return handler(request, response, next)
  }
  if (stand.before !== undefined) app.use(stand.before)
  app.use('/payments', express.json({ verify: keepRawBody }))
  app.all('/payments', guard(stand.engine ?? onMemory(), { ...options, ...stand.options }, counted))
  if (stand.behind !== undefined) app.all('/payments', stand.behind)
  app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
    response.status(418).json({ handled: error.message })
  })
  return { url: await served(app), runs }
}
