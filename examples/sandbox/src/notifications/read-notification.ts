import type { FastifyRequest } from 'fastify'
import { type Database, rowsOf } from '../database/database.js'
import { hasUser } from '../money/users.js'
import { invalid, notFound } from '../web/fields.js'
import { notificationRequestOf } from './notification-request.js'

/** A hook: the handler is given a notification to somebody who exists, or is not called. Where nobody keeps jobs, it is for now. */
export function readNotification(database: Database, when: 'at any time' | 'at once' = 'at any time') {
  return async (request: FastifyRequest): Promise<void> => {
    const { userId, ...asked } = notificationRequestOf(request.body)
    const isKnown = userId === undefined || (await hasUser(rowsOf(database), request.tenant, userId))
    if (!isKnown) throw notFound('user')
    if (when === 'at once' && asked.sendAt !== undefined && Date.parse(asked.sendAt) > Date.now())
      throw invalid('sendAt must be over: with keys in Redis there is no outbox that would wait for it.')
    request.body = asked
  }
}
