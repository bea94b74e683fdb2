import type { HttpHarness, Said } from 'hapax/conformance'
import { memoryStore } from 'hapax/memory'
import { guard } from 'hapax/node'
import { collected, listening } from './http-serving.js'

export const nodeHarness: HttpHarness = {
  name: 'node',
  store: async () => memoryStore(),
  async serve({ engine, routes }) {
    const guarded = new Map(
      routes.map(({ path, options, scope, handler }) => [
        path,
        guard(
          engine,
          { ...options, scope: ({ headers }) => scope((name) => headers[name]?.toString()) },
          async ({ method = '' }, { work, body }) => {
            const said = await handler({ method, body, work })
            return said.by === 'commit' ? work.commit(() => whole(said)) : whole(said)
          },
        ),
      ]),
    )
    return listening((request, response) => {
      const route = guarded.get(request.url?.split('?', 1)[0] ?? '')
      if (route === undefined) return void response.writeHead(404).end()
      void route(request, response)
    })
  },
}

/** This adapter takes whole bodies only. */
async function whole({ status, headers = [], body }: Said) {
  return { status, headers, body: await collected(body) }
}
