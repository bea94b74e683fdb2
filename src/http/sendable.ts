import { HapaxError } from '../kernel/errors.js'
import type { Reply } from './exchange.js'

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The reply, if it can go over a wire. Looked at before it is kept: an answer that is stored and cannot be sent would
 * fail its first caller and every retry, and a line break in a header would be somebody else's header.
 */
export function sendable(reply: Reply): Reply {
  const { status, headers } = reply
  if (!Number.isInteger(status) || status < 200 || status > 999) throw unsendable(`its status is ${status}`)
  for (const [name, value] of headers) {
    if (!token.test(name)) throw unsendable('the name of a header is no token')
    if (!fieldValue.test(value)) throw unsendable(`its header ${name} holds a character that no header may hold`)
  }
  return reply
}

function unsendable(why: string): HapaxError {
  return new HapaxError('answer_withheld', `The answer cannot be sent: ${why}.`)
}
