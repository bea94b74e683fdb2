import { invalid, isObject, isText } from '../web/fields.js'
import { isId } from '../web/ids.js'

/** What somebody shall be told. */
export interface NotificationRequest {
  /** An address of any kind, or `user:` and the id of a user. */
  readonly to: string
  readonly text: string
}

const most = { addressLength: 255, textLength: 1_000 }

/** Reads a body as a notification, or says what is wrong with it. */
export function notificationRequestOf(body: unknown): NotificationRequest & { readonly userId: string | undefined } {
  if (!isObject(body)) throw invalid('The body must be a JSON object.')
  const { to, userId, text, message = text } = body
  if ((to === undefined) === (userId === undefined)) throw invalid('Give either to or userId.')
  if (text !== undefined && message !== text) throw invalid('Give either text or message.')
  if (userId !== undefined && !isId(userId)) throw invalid('userId must be the id of a user.')
  const address = isId(userId) ? `user:${userId}` : to
  if (!isText(address, most.addressLength)) throw invalid(`to must be a text of 1 to ${most.addressLength} characters.`)
  if (!isText(message, most.textLength)) throw invalid(`text must be a text of 1 to ${most.textLength} characters.`)
  return { to: address, text: message, userId }
}
