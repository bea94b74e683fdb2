import type { RouteShorthandOptionsWithHandler } from 'fastify'
import type { Engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { rowsOf } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import { patienceOf } from '../partners/patience.js'
import { meaningOf } from '../partners/provider.js'
import type { Sandbox } from '../sandbox.js'
import { everyRoute } from '../web/keys.js'
import { authenticate } from '../web/tenant.js'
import type { NotificationRequest } from './notification-request.js'
import {
  keepNotification,
  type Notification,
  newNotification,
  setNotificationStatus,
  shownNotification,
} from './notifications.js'
import { readNotification } from './read-notification.js'

/**
 * POST /notifications where its keys lie in Redis. Row and record are in two places now and cannot commit together, so that
 * whatever is done can be done again: the row has its id from the input, which is on record, and the call is asked about
 * before it is repeated. Should Redis forget the key, somebody is told the same thing twice.
 */
export function sendAtOnce(
  sandbox: Sandbox,
  quick: Engine<never>,
  { notifier }: Partners,
): RouteShorthandOptionsWithHandler {
  const { database } = sandbox
  const { lease, timeout } = patienceOf(sandbox)
  const { db, run } = rowsOf(database)

  const operation = quick.operation(
    'notifications.create',
    { version: 1, retention: '24h', lease },
    async (work, notification: Notification) => {
      const { id, to, text } = notification
      await run(keepNotification(db, notification))
      const { status } = await work.call('sent', {
        run: (call) => notifier.send({ to, text, reference: id }, call),
        lookup: ({ key }) => notifier.find(key),
        classify: meaningOf,
        timeout,
      })
      await database.query(setNotificationStatus(db, id, status))
      const headers = { Location: `/notifications/${id}` }
      return { status: 202, body: shownNotification({ ...notification, status }), headers }
    },
  )
  return guard(
    quick,
    {
      ...everyRoute(sandbox),
      operation,
      input: ({ tenant, body }) => newNotification(tenant, body as NotificationRequest),
    },
    { onRequest: authenticate, preValidation: readNotification(database, 'at once') },
  )
}
