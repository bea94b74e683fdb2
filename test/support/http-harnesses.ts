import type { HttpHarness } from 'hapax/conformance'
import { express4Harness, expressHarness } from './http-express-harness.js'
import { fastifyHarness } from './http-fastify-harness.js'
import { fetchHarness } from './http-fetch-harness.js'
import { nodeHarness } from './http-node-harness.js'

/** Every adapter that is published, by the last part of its entry point; and Express 4 beside 5. */
export const httpHarnesses: Readonly<Record<string, HttpHarness>> = {
  express: expressHarness,
  express4: express4Harness,
  fastify: fastifyHarness,
  fetch: fetchHarness,
  node: nodeHarness,
}
