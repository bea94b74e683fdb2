import type { RouteShorthandOptionsWithHandler } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { openApiDocument } from './document.js'

/** GET /openapi.json. Made when it is first asked for: by then every route is guarded. */
export function openApiPage(sandbox: Sandbox): RouteShorthandOptionsWithHandler {
  let document: ReturnType<typeof openApiDocument> | undefined
  return {
    async handler() {
      document ??= openApiDocument(sandbox)
      return document
    },
  }
}
