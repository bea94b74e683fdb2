import { Buffer } from 'node:buffer'
import { HapaxError } from '../kernel/errors.js'
import type { Verify } from './delivery.js'
import { jsonOf } from './json.js'
import { checksOf, type SignatureOptions, unsigned } from './signature.js'

/**
 * Verifies deliveries of Stripe, and of those who sign as it does: `Stripe-Signature: t=…,v1=…`. The event is known by the
 * `id` in its body, which is read once the signature is known to be right.
 *
 * @example
 * const verify = stripeSignature({ secrets: [process.env.STRIPE_WEBHOOK_SECRET] })
 */
export function stripeSignature(options: SignatureOptions): Verify {
  const { refuseForged, refuseStale } = checksOf('stripeSignature', options, keyOf)
  return ({ headers, body }, { now }) => {
    const fields = (headers.get('stripe-signature') ?? '').split(',').map((field) => field.trim())
    const [timestamp, ...others] = valuesOf(fields, 't=')
    if (timestamp === undefined || others.length > 0) throw unsigned('A delivery carries Stripe-Signature: t=…,v1=….')
    const signatures = valuesOf(fields, 'v1=').map((signature) => Buffer.from(signature, 'hex'))
    refuseForged([`${timestamp}.`, body], signatures)
    refuseStale(timestamp, now)
    return { eventId: idIn(jsonOf(body)) }
  }
}

function valuesOf(fields: readonly string[], name: string): string[] {
  return fields.filter((field) => field.startsWith(name)).map((field) => field.slice(name.length))
}

/** The whole text is the key, its `whsec_` too. */
function keyOf(secret: string): Uint8Array {
  if (/\s/.test(secret)) throw new HapaxError('policy_invalid', 'stripeSignature: a secret has no blanks or line ends.')
  return Buffer.from(secret)
}

function idIn(event: unknown): string {
  const id = (event as { id?: unknown } | null | undefined)?.id
  if (typeof id === 'string') return id
  throw new HapaxError('webhook_malformed', 'An event has an id.')
}
