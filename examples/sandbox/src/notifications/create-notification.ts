import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { guard } from 'hapax/fastify'
import type { Sandbox } from '../sandbox.js'
import { authenticate, tenantOf } from '../web/tenant.js'
import { bodyLimit } from '../web/web-app.js'
import { type NotificationRequest, readNotification } from './notification-request.js'
import { insertNotification, newNotification, shownNotification } from './notifications.js'

/**
 * POST /notifications. The row, the job and the answer are one commit: there is none without the others. A worker does the
 * job afterwards, and nobody waits for it.
 */
export function createNotification({ hapax, database, lease }: Sandbox): RouteShorthandOptionsWithHandler {
  // All that the handler does is that commit. A crash rolls it back, so that a retry may simply run.
  const policy = { name: 'notifications.create', retention: '24h', lease, onCrash: 'retry' } as const
  return guard(
    hapax,
    { ...policy, scope: tenantOf, methods: ['POST'], bodyLimit },
    {
      onRequest: authenticate,
      preValidation: readNotification,
      handler: ({ work, body, tenant }, reply) =>
        work.commit(async ({ tx, effect }) => {
          const notification = newNotification(tenant, body as NotificationRequest)
          const { id, to, text } = notification
          await tx.run(insertNotification(database.queries, notification))
          effect('notifications.send', { id, to, text })
          reply.code(202).header('Location', `/notifications/${id}`)
          return shownNotification(notification)
        }),
    },
  )
}
