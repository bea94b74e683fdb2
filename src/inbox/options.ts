import { isName } from '../engine/name.js'
import { HapaxError } from '../kernel/errors.js'
import type { Verify } from './delivery.js'
import type { InboxHost } from './host.js'
import type { Testimonies } from './testimonies.js'

/** What the work on one event is given. */
export interface Received<Tx, Event = unknown> {
  /** The body, read as JSON, through `parse` if there is one. */
  readonly event: Event
  readonly eventId: string
  /** The bytes that were signed: for numbers, say, that JSON of JavaScript cannot hold. */
  readonly body: Uint8Array
  /** The transaction that the event is remembered in: what is written through it commits with it, or not at all. */
  readonly tx: Tx
  /** Says what the event proves about a call of ours. It is stored in the same transaction. */
  readonly evidence: Testimonies['evidence']
}

export interface InboxOptions<Tx, Event = unknown> {
  /** The engine, on a store with transactions. */
  readonly hapax: InboxHost<Tx>
  /** Who sends. Events are told apart by this name and their id, so under another name all of them are new. */
  readonly provider: string
  /** `standardWebhooks(…)`, `stripeSignature(…)` or a function of your own. */
  readonly verify: Verify
  /** Makes an event of what was sent, or throws: then the delivery is refused as malformed. */
  readonly parse?: (json: unknown) => Event
  /** The work, awaited if it is a promise. If it throws, all of it is rolled back, and the provider delivers again. */
  readonly handle: (received: Received<Tx, Event>) => unknown
  /** The longest body that is taken, in bytes. */
  readonly bodyLimit?: number
  /** Where the API serves its contract, with the page of errors under it: a path, or an absolute address. */
  readonly docs?: string
}

export function refuseIncomplete<Tx, Event>(options: InboxOptions<Tx, Event>): void {
  const { hapax, provider, verify, parse, handle, bodyLimit = 1 } = options ?? {}
  const refuse = (message: string): never => {
    throw new HapaxError('policy_invalid', message)
  }
  if (!isName(provider)) refuse("inbox({ provider }) needs a short printable name, like 'stripe'.")
  const where = `Inbox "${provider}"`
  if (typeof hapax?.chores?.testified !== 'function') refuse(`${where}: give the engine as hapax.`)
  if (typeof verify !== 'function') refuse(`${where}: give verify, like standardWebhooks({ secrets: [secret] }).`)
  if (parse !== undefined && typeof parse !== 'function') refuse(`${where}: parse is a function from JSON to an event.`)
  if (!Number.isSafeInteger(bodyLimit) || bodyLimit < 1) refuse(`${where}: bodyLimit is a number of bytes, from 1.`)
  if (typeof handle !== 'function') throw new HapaxError('handler_missing', `${where}: give the work as handle.`)
}
