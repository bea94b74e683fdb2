import type { FastifyInstance } from 'fastify'
import { createPayment } from './payments/create-payment.js'
import { showPayment } from './payments/show-payment.js'
import { rideRoutes } from './rides/ride-routes.js'
import type { Sandbox } from './sandbox.js'
import { contract, errors, keyState, openApi } from './web/idempotency-pages.js'
import type { Path } from './web/path.js'
import { Problem } from './web/problem.js'
import { processPage } from './web/process-page.js'
import { providersPages } from './web/providers-pages.js'

/** Every path of the sandbox. */
export function addRoutes(app: FastifyInstance, sandbox: Sandbox): void {
  app.decorateRequest('tenant', '')
  const paths: readonly Path[] = [
    ['POST', '/payments', createPayment(sandbox)],
    // Plain characters only: what else a path may spell, a database may refuse.
    ['GET', '/payments/:id(^[\\w-]+$)', showPayment(sandbox)],
    ...rideRoutes(sandbox),
    ['GET', '/idempotency/policy', contract(sandbox)],
    ['GET', '/idempotency/openapi', openApi(sandbox)],
    ['GET', '/idempotency/errors', errors()],
    ['GET', '/idempotency/status', keyState(sandbox)],
    [
      ['GET', 'POST', 'PUT', 'DELETE'],
      '/_providers/:page(^(?:ledger|faults|deliveries|settings)$)',
      providersPages(sandbox),
    ],
    ['GET', '/_sandbox/process', processPage()],
  ]
  for (const [method, url, route] of paths) app.route({ ...route, method, url })
  for (const url of new Set(paths.map(([, url]) => url))) {
    const allowed = paths.flatMap(([method, ofUrl]) => (ofUrl === url ? method : []))
    refuseOtherMethods(app, url, allowed)
  }
}

/** Where Fastify would say that there is no such path. */
function refuseOtherMethods(app: FastifyInstance, url: string, allowed: readonly string[]): void {
  const others = app.supportedMethods.filter((method) => !allowed.includes(method))
  const refuse = async () => {
    throw new Problem({
      status: 405,
      code: 'method_not_allowed',
      title: 'This path does not know the method.',
      detail: `Use ${allowed.join(', ')}.`,
      headers: { Allow: allowed.join(', ') },
    })
  }
  // Before the body, which nobody needs.
  app.route({ method: others, url, onRequest: refuse, handler: refuse })
}
