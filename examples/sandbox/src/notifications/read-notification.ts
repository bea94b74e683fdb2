import type { FastifyRequest } from 'fastify'
import { type Database, rowsOf } from '../database/database.js'
import { hasUser } from '../money/users.js'
import { notFound } from '../web/fields.js'
import { notificationRequestOf } from './notification-request.js'

/** A hook: the handler is given a notification to somebody who exists, or is not called. */
export function readNotification(database: Database) {
  return async (request: FastifyRequest): Promise<void> => {
    const { userId, ...asked } = notificationRequestOf(request.body)
    const isKnown = userId === undefined || (await hasUser(rowsOf(database), request.tenant, userId))
    if (!isKnown) throw notFound('user')
    request.body = asked
  }
}
