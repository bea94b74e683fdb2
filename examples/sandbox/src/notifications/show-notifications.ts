import type { RouteShorthandOptionsWithHandler } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { pageOf } from '../web/paging.js'
import { authenticate } from '../web/tenant.js'
import { findNotification, listNotifications, notificationOf, shownNotification } from './notifications.js'

/** GET /notifications/:id. Another tenant's is answered like one that does not exist. */
export function showNotification({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    async handler({ tenant, params }) {
      const { id } = params as { id: string }
      const { rows } = await database.query(findNotification(database.queries, tenant, id))
      const [row] = rows
      if (row === undefined) throw notFound('notification')
      return shownNotification(notificationOf(row))
    },
  }
}

/** GET /notifications: the tenant's, the last one first. */
export function showNotifications({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    async handler({ tenant, query }) {
      const { items: notifications, next } = await pageOf(query, async (limit, after) => {
        const { rows } = await database.query(listNotifications(database.queries, tenant, limit, after))
        return rows.map((row) => shownNotification(notificationOf(row)))
      })
      return { notifications, ...(next !== undefined && { next }) }
    },
  }
}
