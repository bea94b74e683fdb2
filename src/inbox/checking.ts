import { isPromise } from '../kernel/awaitable.js'
import { within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'
import { wordsOf } from '../kernel/log.js'
import { type Delivery, headersOf, type IncomingDelivery, type Verified } from './delivery.js'
import { jsonOf } from './json.js'
import type { InboxOptions } from './options.js'
import { refuseLonger } from './request-body.js'

/** A delivery that may be worked on. */
export interface Checked<Event> {
  readonly eventId: string
  readonly event: Event
  readonly body: Uint8Array
}

/** Nothing of a delivery is believed, read as JSON or stored before its signature is known to be right. */
export async function check<Tx, Event>(
  { headers, body = new Uint8Array() }: IncomingDelivery,
  options: InboxOptions<Tx, Event>,
): Promise<Checked<Event>> {
  const { bodyLimit = defaults.bodyLimitBytes } = options
  if (!(body instanceof Uint8Array)) throw new HapaxError('policy_invalid', notBytes)
  refuseLonger(body.byteLength, bodyLimit)
  const { eventId } = await verified({ headers: headersOf(headers), body }, options)
  refuseUnnamed(eventId)
  return { eventId, event: parsed(jsonOf(body), options), body }
}

/** One who asks others is waited for within a bound. */
async function verified<Tx, Event>(
  delivery: Delivery,
  { hapax: { clock }, verify }: InboxOptions<Tx, Event>,
): Promise<Partial<Verified>> {
  const found = verify(delivery, { now: clock.now() })
  const late = () => new Error(`verify took more than ${defaults.verifyTimeoutMs} ms`)
  return (await (isPromise(found) ? within(clock, defaults.verifyTimeoutMs, found, late) : found)) ?? {}
}

function refuseUnnamed(eventId: unknown): asserts eventId is string {
  if (typeof eventId === 'string' && eventId.length <= limits.eventIdLength && /^[\x20-\x7e]+$/.test(eventId)) return
  const message = `The id of an event has 1 to ${limits.eventIdLength} printable ASCII characters.`
  throw new HapaxError('webhook_malformed', message)
}

/** Somebody signed what we do not understand: that is for the log, since the provider will hardly tell us. */
function parsed<Tx, Event>(json: unknown, { hapax, provider, parse }: InboxOptions<Tx, Event>): Event {
  if (parse === undefined) return json as Event
  try {
    return parse(json)
  } catch (cause) {
    const message = `inbox "${provider}": parse threw ${wordsOf(cause)}`
    hapax.log({ level: 'warn', code: 'webhook_malformed', message })
    throw new HapaxError('webhook_malformed', 'The event is not of a kind that is known here.', { cause })
  }
}

const notBytes =
  'The body is not the bytes that were sent. A body that was parsed and written again has another signature: see the recipes for raw bodies in docs/guides/webhooks.md.'
