import type { FastifyRequest } from 'fastify'
import { invalid, isObject, isText } from '../web/fields.js'
import { isId } from '../web/ids.js'

/** What somebody shall be told. */
export interface NotificationRequest {
  /** An address of any kind, or `user:` and the id of a user. */
  readonly to: string
  readonly text: string
}

const most = { addressLength: 255, textLength: 1_000 }

/** A hook: the handler is given a notification, or is not called. */
export async function readNotification(request: FastifyRequest): Promise<void> {
  request.body = notificationRequestOf(request.body)
}

function notificationRequestOf(body: unknown): NotificationRequest {
  if (!isObject(body)) throw invalid('notification', 'The body must be a JSON object.')
  const { to, userId, text, message = text } = body
  if ((to === undefined) === (userId === undefined)) throw invalid('notification', 'Give either to or userId.')
  if (text !== undefined && message !== text) throw invalid('notification', 'Give either text or message.')
  if (userId !== undefined && !isId(userId)) throw invalid('notification', 'userId must be the id of a user.')
  const address = isId(userId) ? `user:${userId}` : to
  if (!isText(address, most.addressLength))
    throw invalid('notification', `to must be a text of 1 to ${most.addressLength} characters.`)
  if (!isText(message, most.textLength))
    throw invalid('notification', `text must be a text of 1 to ${most.textLength} characters.`)
  return { to: address, text: message }
}
