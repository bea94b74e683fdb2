import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Duration, formatDuration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'

export interface SignatureOptions {
  /**
   * The secrets that a delivery may be signed with: while one is being replaced, the new one and the old one. What is
   * `undefined` or empty is left out, so that they may come from the environment; one at least must be there.
   */
  readonly secrets: readonly (string | undefined)[]
  /** How far the time of the signature may lie from ours, either way. */
  readonly tolerance?: Duration
}

/** What a scheme checks with, made once at start. */
export interface Checks {
  /** Throws unless one of the signatures was made of these parts, with one of the secrets. */
  refuseForged(parts: readonly (string | Uint8Array)[], signatures: readonly Uint8Array[]): void
  /** Throws unless the time, in seconds since 1970, is near `now`. */
  refuseStale(timestamp: string, now: number): void
}

export function checksOf(scheme: string, options: SignatureOptions, keyOf: (secret: string) => Uint8Array): Checks {
  const keys = given(scheme, options?.secrets).map(keyOf)
  const toleranceMs =
    options.tolerance === undefined
      ? defaults.webhookToleranceMs
      : parseDuration(options.tolerance, `${scheme}: tolerance`)
  return {
    refuseForged(parts, signatures) {
      for (const key of keys) {
        const hmac = createHmac('sha256', key)
        for (const part of parts) hmac.update(part)
        const expected = hmac.digest()
        if (signatures.some((signature) => isEqual(expected, signature))) return
      }
      throw unsigned('Its signature does not fit: it was made with another secret, or of other bytes.')
    },
    refuseStale(timestamp, now) {
      if (/^\d{1,12}$/.test(timestamp) && Math.abs(now - Number(timestamp) * 1_000) <= toleranceMs) return
      const message = `A delivery must be signed within ${formatDuration(toleranceMs)} of now. Sign each delivery anew.`
      throw new HapaxError('webhook_timestamp_refused', message)
    },
  }
}

export function unsigned(message: string): HapaxError {
  return new HapaxError('webhook_signature_invalid', message)
}

/** An empty secret would let everybody sign, so it counts as none. */
function given(scheme: string, secrets: unknown): readonly string[] {
  const found = Array.isArray(secrets) ? secrets.filter((secret) => secret !== undefined && secret !== '') : []
  if (found.length > 0 && found.every((secret) => typeof secret === 'string')) return found
  throw new HapaxError(
    'policy_invalid',
    `${scheme}: give { secrets: [secret] }, a list with a text in it. None was there.`,
  )
}

/** Takes as long for a good guess as for a bad one. The length of a signature is no secret. */
function isEqual(expected: Uint8Array, signature: Uint8Array): boolean {
  return signature.byteLength === expected.byteLength && timingSafeEqual(expected, signature)
}
