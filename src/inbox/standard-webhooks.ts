import { Buffer } from 'node:buffer'
import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { Verify } from './delivery.js'
import { checksOf, type SignatureOptions, unsigned } from './signature.js'

/**
 * Verifies deliveries that are signed as Standard Webhooks say: HMAC-SHA256 over the id, the time and the bytes of the
 * body, under a secret that is written `whsec_…`. The event is known by its `webhook-id`.
 *
 * @example
 * const verify = standardWebhooks({ secrets: [process.env.AIRTM_SECRET, process.env.AIRTM_OLD_SECRET] })
 */
export function standardWebhooks(options: SignatureOptions): Verify {
  const { refuseForged, refuseStale } = checksOf('standardWebhooks', options, keyOf)
  return ({ headers, body }, { now }) => {
    const id = headers.get('webhook-id')
    const timestamp = headers.get('webhook-timestamp')
    const signatures = headers.get('webhook-signature')
    if (id === undefined || timestamp === undefined || signatures === undefined) {
      throw unsigned('A delivery carries webhook-id, webhook-timestamp and webhook-signature.')
    }
    refuseForged([`${id}.${timestamp}.`, body], signaturesIn(signatures))
    refuseStale(timestamp, now)
    return { eventId: id }
  }
}

/** Others than `v1` are made with keys of another kind, and are for others to check. */
function signaturesIn(text: string): Uint8Array[] {
  const signatures = text.split(' ').filter((signature) => signature.startsWith(version))
  return signatures.map((signature) => Buffer.from(signature.slice(version.length), 'base64'))
}

const version = 'v1,'
const prefix = 'whsec_'

function keyOf(secret: string): Uint8Array {
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret
  const key = Buffer.from(text, 'base64')
  // Node reads whatever looks like base64 and skips the rest: a secret with a typo would be another secret.
  const isBase64 = withoutPadding(key.toString('base64')) === withoutPadding(text)
  if (isBase64 && key.byteLength >= limits.webhookSecretBytes) return key
  const message = `standardWebhooks: a secret is whsec_ and at least ${limits.webhookSecretBytes} bytes in base64, with nothing around it.`
  throw new HapaxError('policy_invalid', message)
}

function withoutPadding(text: string): string {
  return text.replace(/={1,2}$/, '')
}
