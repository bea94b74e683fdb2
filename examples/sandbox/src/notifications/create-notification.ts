import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { guard } from 'hapax/fastify'
import type { Sandbox } from '../sandbox.js'
import { everyRoute } from '../web/keys.js'
import { authenticate } from '../web/tenant.js'
import type { NotificationRequest } from './notification-request.js'
import { insertNotification, newNotification, shownNotification } from './notifications.js'
import { readNotification } from './read-notification.js'

/**
 * POST /notifications. The row, the job and the answer are one commit: there is none without the others. A worker does the
 * job afterwards, at once or when its time has come, and nobody waits for it.
 */
export function createNotification(sandbox: Sandbox): RouteShorthandOptionsWithHandler {
  const { hapax, database, lease } = sandbox
  // All that the handler does is that commit. A crash rolls it back, so that a retry may simply run.
  const policy = { name: 'notifications.create', retention: '24h', lease, onCrash: 'retry' } as const
  return guard(
    hapax,
    { ...policy, ...everyRoute(sandbox) },
    {
      onRequest: authenticate,
      preValidation: readNotification(database),
      async handler({ work, body, tenant }, reply) {
        const notification = newNotification(tenant, body as NotificationRequest)
        const { id, to, text, sendAt } = notification
        const waitSeconds = secondsUntil(sendAt)
        // Its key is kept for as long after it is sent as that of any other, or who retries then would have it sent again.
        if (waitSeconds > 0) await work.extend(`${waitSeconds + daySeconds}s`)
        return work.commit(async ({ tx, effect }) => {
          for (const row of insertNotification(database.queries, notification)) await tx.run(row)
          effect('notifications.send', { id, to, text }, { delay: `${waitSeconds}s` })
          reply.code(202).header('Location', `/notifications/${id}`)
          return shownNotification(notification)
        })
      },
    },
  )
}

const daySeconds = 24 * 60 * 60

function secondsUntil(time: string | undefined): number {
  return time === undefined ? 0 : Math.max(0, Math.ceil((Date.parse(time) - Date.now()) / 1_000))
}
