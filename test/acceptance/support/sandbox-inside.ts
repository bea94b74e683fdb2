import type { AddressInfo } from 'node:net'
import type { EventName } from 'hapax'
import { onTestFinished } from 'vitest'
import { openApiDocument } from '../../../examples/sandbox/src/openapi/document.js'
import { addRoutes } from '../../../examples/sandbox/src/routes.js'
import { closeSandbox, openSandbox } from '../../../examples/sandbox/src/sandbox.js'
import { settingsFrom } from '../../../examples/sandbox/src/settings.js'
import { webApp } from '../../../examples/sandbox/src/web/web-app.js'
import type { OpenApi } from '../../sandbox/documented.js'
import { toldNames } from '../../support/told.js'

/** The sandbox in our own process: what Fastify was told, and what its engine says meanwhile. */
export interface SandboxInside {
  readonly url: string
  /** `POST /orders/{id}/reserve`, and all others that may change something. */
  readonly changing: readonly string[]
  /** Those of them that Hapax guards. */
  readonly guarded: readonly string[]
  /** How often each event was heard. */
  counts(): Readonly<Partial<Record<EventName, number>>>
}

/** Ends with the test. `more` adds routes that nobody has thought of. */
export async function sandboxInside(
  env: Readonly<Record<string, string>>,
  more: readonly string[] = [],
): Promise<SandboxInside> {
  const opened = await openSandbox(settingsFrom({ HAPAX_PROVIDERS_URL: 'http://127.0.0.1:9', ...env }))
  const heard: Partial<Record<EventName, number>> = {}
  for (const name of toldNames)
    opened.hapax.on(name, () => {
      heard[name] = (heard[name] ?? 0) + 1
    })
  const app = webApp()
  onTestFinished(async () => {
    await app.close()
    await closeSandbox(opened, [])
  })
  const changing: string[] = []
  app.addHook('onRoute', ({ method, url, handler, onRequest }) => {
    // What only says 405 says so before anything else.
    if (handler === (onRequest as unknown)) return
    for (const one of [method].flat())
      if (!['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(one)) changing.push(`${one} ${plain(url)}`)
  })
  addRoutes(app, opened)
  for (const url of more) app.post(url, async () => 'done')
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { paths } = openApiDocument(opened) as unknown as OpenApi
  const isGuarded = (route: string) => {
    const [method = '', path = ''] = route.split(' ')
    return paths[path]?.[method.toLowerCase()]?.['x-idempotency'] !== undefined
  }
  const { port } = app.server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    changing: [...new Set(changing)],
    guarded: changing.filter(isGuarded),
    counts: () => ({ ...heard }),
  }
}

/** `/orders/:id(^[\w-]+$)` as it is documented. */
function plain(url: string): string {
  return url.replaceAll(/:(\w+)(\([^)]*\))?/g, '{$1}')
}
