import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { control } from './control-routes.js'
import { askProvider } from './provider-routes.js'
import { Refusal } from './refusal.js'
import { answer, type Incoming, type Reply } from './reply.js'
import type { World } from './world.js'

const bodyLimit = 64 * 1024
/** How long a caller that does not leave is kept waiting for nothing. */
const silenceMs = 60_000

/** HTTP around the world. Every answer waits until what it tells of is on disk. */
export function serverOf(world: World): Server {
  const server = createServer((request, response) => {
    replyTo(world, request)
      .then((reply) => send(reply, response))
      .catch((error: unknown) => {
        console.error('the providers have a bug:', error)
        response.destroy()
      })
  })
  server.requestTimeout = 30_000
  // Longer than callers keep an idle connection, so that none is closed under a request.
  server.keepAliveTimeout = 30_000
  return server
}

async function replyTo(world: World, request: IncomingMessage): Promise<Reply> {
  try {
    const incoming = await read(request)
    return await (incoming.path[0] === '_providers' ? control(world, incoming) : askProvider(world, incoming))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // A refusal may tell of what another request has just done.
    await Promise.all(world.members.map(({ book }) => book.flushed()))
    return answer(error.status, error.body)
  }
}

async function read(request: IncomingMessage): Promise<Incoming> {
  const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://providers')
  const key = request.headers['idempotency-key']
  const sent = await jsonOf(request)
  const path = pathname.slice(1).split('/')
  return { method: request.method ?? '', path, query, key: Array.isArray(key) ? key.join(', ') : key, sent }
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > bodyLimit) throw new Refusal(413, 'body_too_large', `A body has at most ${bodyLimit} bytes.`)
    chunks.push(chunk)
  }
  if (size === 0) return undefined
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    throw new Refusal(400, 'body_invalid', 'The body is not JSON.')
  }
}

function send(reply: Reply, response: ServerResponse): void {
  switch (reply.kind) {
    case 'answer':
      response.writeHead(reply.status, { 'Content-Type': 'application/json', ...reply.headers })
      response.end(`${JSON.stringify(reply.body)}\n`)
      return
    case 'reset':
      response.socket?.resetAndDestroy()
      return
    case 'silence': {
      const giveUp = setTimeout(() => response.destroy(), silenceMs).unref()
      response.once('close', () => clearTimeout(giveUp))
      return
    }
  }
}
