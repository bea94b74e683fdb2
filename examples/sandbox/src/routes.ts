import type { FastifyInstance } from 'fastify'
import { routeCollector } from 'hapax/admin'
import { addAdmin } from './admin/admin-routes.js'
import { authenticateClient } from './bank/bank-client.js'
import { addBankRoutes } from './bank/bank-routes.js'
import { homePage } from './home/home-page.js'
import { hearOfPayment, paymentResult } from './marketplace/airtm-news.js'
import { hearOfEscrow } from './marketplace/escrow-news.js'
import { marketplaceRoutes } from './marketplace/marketplace-routes.js'
import { ledgerPage, usersPage } from './money/pages.js'
import { notificationRoutes } from './notifications/notification-routes.js'
import { openApiPage } from './openapi/openapi-page.js'
import { escrowOf } from './partners/trustless-work.js'
import { paymentRoutes } from './payments/payment-routes.js'
import { rideRoutes } from './rides/ride-routes.js'
import type { Sandbox } from './sandbox.js'
import { contract, errors, keyState } from './web/idempotency-pages.js'
import { metricsPage } from './web/metrics-page.js'
import { addPaths, type Path } from './web/path.js'
import { processPage } from './web/process-page.js'
import { providersPages } from './web/providers-pages.js'
import { addWebhooks } from './webhooks/webhook-routes.js'

/** What changes something and needs no key, each for its reason. */
const withoutKeys = [
  // The inbox processes each event once, by its id.
  'POST /webhooks/*',
  // They only ask the provider how something stands.
  'POST /*/refresh',
  // The toy outside world, and not this API.
  'POST /_providers/*',
  // It guards its writes by itself.
  'POST /admin/*',
]

/** Every path of the sandbox. */
export function addRoutes(app: FastifyInstance, sandbox: Sandbox): void {
  app.decorateRequest('tenant', '').decorateRequest('credential', '')
  const routes = routeCollector(app, { exempt: withoutKeys })
  const paths: readonly Path[] = [
    ...paymentRoutes(sandbox),
    ...rideRoutes(sandbox),
    ...notificationRoutes(sandbox),
    ...marketplaceRoutes(sandbox),
    ['GET', '/', homePage(sandbox)],
    ['GET', '/openapi.json', openApiPage(sandbox)],
    ['GET', '/users', usersPage(sandbox)],
    ['GET', '/ledger', ledgerPage(sandbox)],
    ['GET', '/idempotency/policy', contract(sandbox)],
    ['GET', '/idempotency/errors', errors()],
    ['GET', '/idempotency/status', keyState(sandbox, authenticateClient)],
    ['GET', '/_providers/ledger', providersPages(sandbox)],
    [['GET', 'POST', 'DELETE'], '/_providers/faults', providersPages(sandbox)],
    [['GET', 'POST'], '/_providers/deliveries', providersPages(sandbox)],
    [['GET', 'PUT'], '/_providers/settings', providersPages(sandbox)],
    ['GET', '/_sandbox/process', processPage()],
    ['GET', '/metrics', metricsPage(sandbox)],
  ]
  addPaths(app, paths)
  addAdmin(app, sandbox, routes)
  addBankRoutes(app, sandbox)
  addWebhooks(app, sandbox, {
    airtm: { hear: hearOfPayment, resultOf: paymentResult },
    trustlessWork: { hear: hearOfEscrow, resultOf: escrowOf },
  })
}
