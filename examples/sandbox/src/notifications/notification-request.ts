import { invalid, isObject, isText, timeIn } from '../web/fields.js'
import { isId } from '../web/ids.js'

/** What somebody shall be told. */
export interface NotificationRequest {
  /** An address of any kind, or `user:` and the id of a user. */
  readonly to: string
  readonly text: string
  /** Not before then, in ISO 8601 and UTC; `undefined` for at once. */
  readonly sendAt: string | undefined
}

const most = { addressLength: 255, textLength: 1_000 }

export const mostDaysAhead = 30

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
  return { to: address, text: message, userId, sendAt: sendAtIn(body.sendAt) }
}

/** One that is over is sent at once, and not refused: the same request was right when it was first sent, and may be a retry. */
function sendAtIn(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const time = timeIn(value)
  if (time === undefined) throw invalid('sendAt must be a time like 2027-01-31T12:00:00Z.')
  if (time.getTime() > Date.now() + mostDaysAhead * dayMs)
    throw invalid(`sendAt must be at most ${mostDaysAhead} days from now.`)
  return time.toISOString()
}

const dayMs = 24 * 60 * 60 * 1_000
