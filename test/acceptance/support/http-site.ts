import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Engine } from 'hapax'
import type { HttpRoute, Said } from 'hapax/conformance'
import { onTestFinished } from 'vitest'
import { httpHarnesses } from '../../support/http-harnesses.js'
import type { Row } from './database.js'
import { type FileNode, testFile } from './test-file.js'

/** An application behind one of the published adapters, on a real port and a real SQLite file. */
export interface Site extends FileNode {
  readonly port: number
  /** Of the SQLite file. */
  readonly path: string
  ask(asked?: Asked): Promise<Got>
  /** How often a handler ran. */
  runs(): number
  /** The rows of all keys, read with plain SQL. */
  rows(): Row[]
  row(key: string): Row
  setTime(ms: number): Promise<void>
}

/** A route to `/payments` of the tenant that `X-Tenant` names, unless it says otherwise. */
export type RouteSketch = Partial<Omit<HttpRoute, 'options' | 'handler'>> & {
  readonly options?: Partial<HttpRoute['options']>
  readonly handler?: (runs: number, body: Uint8Array) => Said | Promise<Said>
}

export interface Asked {
  readonly method?: string
  readonly path?: string
  /** `undefined` sends none. */
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
}

export interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  readonly replayed: boolean
}

/** Express 4 is served by the adapter of Express, and runs the same conformance suite. */
export const adapters = Object.keys(httpHarnesses).filter((name) => name !== 'express4')
export const key = '8e03978e-40d5-43dd-bc93-6894a57f9324'

export async function site(adapter: string, ...sketches: readonly RouteSketch[]): Promise<Site> {
  const harness = httpHarnesses[adapter]
  if (harness === undefined) throw new Error(`There is no adapter for ${adapter}.`)
  const file = await testFile()
  const node = file.node()
  let runs = 0
  const routes = (sketches.length === 0 ? [{}] : sketches).map(
    ({ options, handler = paid, ...rest }: RouteSketch, index): HttpRoute => ({
      path: '/payments',
      scope: (header) => header('x-tenant') ?? 'acme',
      ...rest,
      options: { name: `operation-${index}`, ...options },
      handler: ({ body }) => handler(++runs, body),
    }),
  )
  // No handler here has a use for the transaction of this store.
  const engine = node.hapax as unknown as Engine<never>
  const server = await harness.serve({ engine, routes })
  onTestFinished(() => server.close())
  return {
    ...node,
    port: server.port,
    path: file.path,
    ask: (asked = {}) => ask(server.port, asked),
    runs: () => runs,
    rows: () => file.sql('SELECT * FROM hapax_records ORDER BY idempotency_key'),
    row: file.row,
    setTime: file.setTime,
  }
}

export async function ask(port: number, asked: Asked): Promise<Got> {
  const { method = 'POST', path = '/payments' } = asked
  const sentKey = 'key' in asked ? asked.key : key
  const body = 'body' in asked ? asked.body : withBody.has(method) ? '{"amount":100}' : undefined
  const headers = {
    ...(sentKey !== undefined && { 'idempotency-key': sentKey }),
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    ...asked.headers,
  }
  const request = send({ host: '127.0.0.1', port, method, path, headers, agent: false })
  request.end(body)
  const [response]: IncomingMessage[] = await once(request, 'response')
  if (response === undefined) throw new Error('There was no answer.')
  const bytes = await buffer(response)
  const replayed = response.headers['idempotent-replayed'] === 'true'
  return { status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString(), replayed }
}

const withBody = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

function paid(runs: number): Said {
  return json(201, { id: runs })
}

export function json(status: number, value: unknown): Said {
  return { status, headers: [['Content-Type', 'application/json']], body: Buffer.from(JSON.stringify(value)) }
}
