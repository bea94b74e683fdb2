import type { InboxStore, Receipt, Testimony } from '../engine/inbox-store.js'
import type { Awaitable } from '../kernel/awaitable.js'
import { within } from '../kernel/clock.js'
import { passing } from '../kernel/crash-points.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import { wordsOf } from '../kernel/log.js'
import { type Checked, check } from './checking.js'
import type { IncomingDelivery } from './delivery.js'
import { type InboxOptions, refuseIncomplete } from './options.js'
import { bug, duplicate, processed, refusal, unavailable, type WebhookReply } from './replies.js'
import { requestBody } from './request-body.js'
import { testimoniesOf } from './testimonies.js'

/** Receives the webhooks of one provider. Neither function ever rejects: whatever goes wrong is a reply. */
export interface Inbox {
  /** Takes one delivery, with the bytes of its body as they came. */
  receive(delivery: IncomingDelivery): Promise<WebhookReply>
  /** The same in the manner of the Fetch API, for a request whose body nobody has read. */
  fetch(request: Request): Promise<Response>
}

/**
 * Processes every event of a provider once. The signature is checked first; then the event is remembered and worked on in
 * one transaction, so that a delivery that was interrupted leaves nothing behind and the next one does it all.
 *
 * @example
 * const airtm = inbox({
 *   hapax,
 *   provider: 'airtm',
 *   verify: standardWebhooks({ secrets: [process.env.AIRTM_SECRET] }),
 *   parse: (json) => json as { type: string; data: { reference: string } },
 *   handle: async ({ event, tx, evidence }) => {
 *     await markPaid(tx, event.data.reference)
 *     evidence({ downstreamKey: event.data.reference, says: 'landed', result: event.data, why: `event ${event.type}` })
 *   },
 * })
 * const { status, headers, body } = await airtm.receive({ headers: request.headers, body: rawBody })
 */
export function inbox<Tx, Event = unknown>(options: InboxOptions<Tx, Event>): Inbox {
  refuseIncomplete(options)
  const { hapax, bodyLimit = defaults.bodyLimitBytes } = options
  const store = storeOf(options)

  async function taken(read: () => Awaitable<IncomingDelivery>): Promise<WebhookReply> {
    let checked: Checked<Event>
    try {
      checked = await check(await read(), options)
    } catch (error) {
      return isHapaxError(error) && error.fault === 'caller' ? refused(error, options) : failed(error, options)
    }
    try {
      return await received(checked)
    } catch (error) {
      return failed(error, options)
    }
  }

  async function received(checked: Checked<Event>): Promise<WebhookReply> {
    const { provider } = options
    const receipt = await once(store, checked, options)
    if (receipt.kind === 'duplicate') {
      hapax.events.emit('webhook_duplicate', () => ({ provider }))
      return duplicate
    }
    passing('inbox.committed')
    hapax.events.emit('webhook_received', () => ({ provider }))
    await settle(receipt.value, options)
    return processed
  }

  return {
    receive: (delivery) => taken(() => delivery),
    async fetch(request) {
      const { headers } = request
      const reply = await taken(async () => ({ headers, body: await requestBody(request, bodyLimit) }))
      return new Response(reply.body, { status: reply.status, headers: reply.headers })
    },
  }
}

/** Remembers the event and does the work, in one transaction; or finds that it was done before. */
async function once<Tx, Event>(
  store: InboxStore<Tx>,
  { eventId, event, body }: Checked<Event>,
  { hapax, provider, handle }: InboxOptions<Tx, Event>,
): Promise<Receipt<readonly Testimony[]>> {
  let thrown: { readonly error: unknown } | undefined
  const work = async (tx: Tx) => {
    const { evidence, end } = testimoniesOf(provider, hapax.log)
    try {
      await handle({ event, eventId, body, tx, evidence })
    } catch (error) {
      thrown = { error }
      throw error
    }
    const testimonies = end()
    return { value: testimonies, testimonies }
  }
  try {
    return await store.receive({ provider, eventId }, work)
  } catch (error) {
    if (thrown?.error === error || isHapaxError(error)) throw error
    throw new HapaxError('idempotency_store_unavailable', `The store failed: ${wordsOf(error)}`, { cause: error })
  }
}

/** What the event said is durable. If it is not acted on now, the reconciler finds it. */
async function settle<Tx, Event>(
  testimonies: readonly Testimony[],
  { hapax, provider }: InboxOptions<Tx, Event>,
): Promise<void> {
  if (testimonies.length === 0) return
  const late = () => new Error(`it took more than ${defaults.storeTimeoutMs} ms`)
  try {
    await within(hapax.clock, defaults.storeTimeoutMs, hapax.chores.testified(testimonies), late)
  } catch (error) {
    const message = `inbox "${provider}": evidence is stored, but was not acted on at once: ${wordsOf(error)}`
    hapax.log({ level: 'warn', code: 'webhook_evidence_waits', message })
  }
}

function refused<Tx, Event>(error: HapaxError, { hapax, provider, docs }: InboxOptions<Tx, Event>): WebhookReply {
  hapax.events.emit('webhook_refused', () => ({ provider, errorCode: error.code }))
  return refusal(error, docs)
}

/** The transaction was rolled back, or never begun; or, where a commit was not heard of, the redelivery is a duplicate. */
function failed<Tx, Event>(error: unknown, { hapax, provider, docs }: InboxOptions<Tx, Event>): WebhookReply {
  const errorCode = isHapaxError(error) ? error.code : 'handler_failed'
  hapax.events.emit('webhook_refused', () => ({ provider, errorCode }))
  if (isHapaxError(error) && (error.fault === 'store' || error.fault === 'operator')) return unavailable(error, docs)
  hapax.log({ level: 'error', code: errorCode, message: `inbox "${provider}" threw ${wordsOf(error)}` })
  return bug
}

function storeOf<Tx, Event>({ hapax, provider }: InboxOptions<Tx, Event>): InboxStore<Tx> {
  if (hapax.inbox !== undefined) return hapax.inbox
  const message = `Inbox "${provider}" needs a store with transactions, like postgresStore or sqliteStore.`
  throw new HapaxError('transaction_unsupported', message)
}
