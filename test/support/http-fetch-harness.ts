import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpHarness, Said } from 'hapax/conformance'
import { guard } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { listening } from './http-serving.js'

export const fetchHarness: HttpHarness = {
  name: 'fetch',
  store: async () => memoryStore(),
  async serve({ engine, routes }) {
    const guarded = new Map(
      routes.map(({ path, options, scope, handler }) => [
        path,
        guard(
          engine,
          { ...options, scope: ({ headers }) => scope((name) => headers.get(name) ?? undefined) },
          async (request, work) => {
            const body = new Uint8Array(await request.arrayBuffer())
            const said = await handler({ method: request.method, body, work })
            return said.by === 'commit' ? work.commit(async () => responseOf(said)) : responseOf(said)
          },
        ),
      ]),
    )
    return listening((incoming, outgoing) => {
      const request = requestOf(incoming)
      const route = guarded.get(new URL(request.url).pathname)
      if (route === undefined) return void outgoing.writeHead(404).end()
      route(request)
        .then((response) => send(response, outgoing))
        .catch(() => outgoing.writeHead(500).end())
    })
  },
}

/** The bridge that a runtime of the Fetch API has inside. */
function requestOf(incoming: IncomingMessage): Request {
  const { method = '', url = '', headers, headersDistinct } = incoming
  const lines = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  const isBodiless = method === 'GET' || method === 'HEAD' || !hasBody
  const init = { method, headers: lines, duplex: 'half' as const }
  return new Request(`http://localhost${url}`, isBodiless ? init : { ...init, body: streamOf(incoming) })
}

/** Whoever stops reading gets no more of it, but the connection stays: its client still waits for an answer. */
function streamOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let isWanted = true
  return new ReadableStream({
    start(controller) {
      const finish = (then: () => void) => {
        if (isWanted) then()
        isWanted = false
      }
      incoming.on('data', (chunk: Buffer) => isWanted && controller.enqueue(new Uint8Array(chunk)))
      incoming.on('end', () => finish(() => controller.close()))
      incoming.on('error', (error) => finish(() => controller.error(error)))
    },
    cancel() {
      isWanted = false
    },
  })
}

function responseOf({ status, headers = [], body }: Said): Response {
  const init = { status, headers: headers.map(([name, value]): [string, string] => [name, value]) }
  if (body === undefined) return new Response(null, init)
  return new Response(body instanceof Uint8Array ? Uint8Array.from(body) : streamed(body), init)
}

function streamed(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
  })
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.statusCode = response.status
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
  outgoing.end(new Uint8Array(await response.arrayBuffer()))
}
