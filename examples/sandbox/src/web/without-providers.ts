import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { providersAbsent } from './providers-pages.js'

/** Stands for a route that cannot be served because there is nobody to ask. No key is looked at. */
export function withoutProviders(): RouteShorthandOptionsWithHandler {
  const refuse = async () => {
    throw providersAbsent('Start the sandbox with `npm start`, or give HAPAX_PROVIDERS_URL.')
  }
  return { onRequest: refuse, handler: refuse }
}
