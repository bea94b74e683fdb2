import type { FastifyInstance, RouteShorthandOptionsWithHandler } from 'fastify'
import { createPayment } from './create-payment.js'
import { contract, errors, keyState, openApi } from './idempotency-pages.js'
import { Problem } from './problem.js'
import type { Sandbox } from './sandbox.js'
import { showPayment } from './show-payment.js'

/** Every path of the sandbox. */
export function addRoutes(app: FastifyInstance, sandbox: Sandbox): void {
  app.decorateRequest('tenant', '')
  const paths: readonly Path[] = [
    ['POST', '/payments', createPayment(sandbox)],
    // Plain characters only: what else a path may spell, a database may refuse.
    ['GET', '/payments/:id(^[\\w-]+$)', showPayment(sandbox)],
    ['GET', '/idempotency/policy', contract(sandbox)],
    ['GET', '/idempotency/openapi', openApi(sandbox)],
    ['GET', '/idempotency/errors', errors()],
    ['GET', '/idempotency/status', keyState(sandbox)],
  ]
  for (const [method, url, route] of paths) {
    app.route({ ...route, method, url })
    refuseOtherMethods(app, url, method)
  }
}

type Path = readonly [method: 'GET' | 'POST', url: string, route: RouteShorthandOptionsWithHandler]

/** Where Fastify would say that there is no such path. */
function refuseOtherMethods(app: FastifyInstance, url: string, allowed: string): void {
  const others = app.supportedMethods.filter((method) => method !== allowed)
  const refuse = async () => {
    throw new Problem({
      status: 405,
      code: 'method_not_allowed',
      title: 'This path does not know the method.',
      detail: `Use ${allowed}.`,
      headers: { Allow: allowed },
    })
  }
  // Before the body, which nobody needs.
  app.route({ method: others, url, onRequest: refuse, handler: refuse })
}
