import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import express5, { type ErrorRequestHandler, type Response } from 'express'
// @ts-expect-error: Express 4 comes without types; what is used of it here is as in Express 5.
import untyped from 'express4'
import type { HttpHarness, Said } from 'hapax/conformance'
import { guard } from 'hapax/express'
import { memoryStore } from 'hapax/memory'
import { collected, listening } from './http-serving.js'

export const expressHarness = harnessOf('express', express5)
export const express4Harness = harnessOf('express4', untyped)

function harnessOf(name: string, express: typeof express5): HttpHarness {
  return {
    name,
    store: async () => memoryStore(),
    async serve({ engine, routes }) {
      const app = express()
      for (const { path, options, scope, handler } of routes) {
        const guarded = guard(
          engine,
          { ...options, scope: (request) => scope((name) => request.get(name)) },
          async (request, response) => {
            const body = await collected(request)
            const said = await handler({ method: request.method, body, work: request.work })
            if (said.by === 'commit') await request.work.commit(() => write(response, said))
            else await write(response, said)
          },
        )
        app.all(path, guarded)
      }
      const onError: ErrorRequestHandler = (_error, _request, response, _next) => void response.status(500).end()
      app.use(onError)
      return listening(app)
    },
  }
}

async function write(response: Response, { status, headers = [], body }: Said): Promise<void> {
  response.statusCode = status
  for (const [name, value] of headers) response.appendHeader(name, value)
  if (body === undefined || body instanceof Uint8Array) return void response.end(body)
  await pipeline(Readable.from(body), response)
}
