import type { RouteShorthandOptionsWithHandler } from 'fastify'

const startedAt = new Date().toISOString()

/** Which process answers: for whoever wants to kill it, and see what becomes of that. */
export function processPage(): RouteShorthandOptionsWithHandler {
  const isSupervised = process.connected === true
  return {
    handler: async (_request, reply) =>
      reply
        .header('Cache-Control', 'no-store')
        .send({ pid: process.pid, startedAt, restartedWhenKilled: isSupervised }),
  }
}
