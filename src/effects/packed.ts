import type { EffectAbout, EffectKind } from '../engine/effect-definition.js'
import type { EffectResult, StoredEffect } from '../engine/effect-store.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'
import type { Log } from '../kernel/log.js'

/** Payloads and results lie in rows as JSON; a call that gave nothing has an empty result. */

export function aboutOf(effect: StoredEffect): EffectAbout<unknown> {
  return { payload: unpacked(effect.payload), key: effect.downstreamKey, scope: effect.scope }
}

export function unpacked(bytes: Uint8Array): unknown {
  return bytes.byteLength === 0 ? undefined : JSON.parse(textOf(bytes))
}

/** What a provider said, as it is kept. Throws `input_not_json` where that cannot be done. */
export function packed(kind: EffectKind, value: unknown, log: Log): EffectResult {
  const result = packedValue(kind, value)
  return { result, providerId: providerIdOf(kind, result, log) }
}

function packedValue(kind: EffectKind, value: unknown): Uint8Array {
  if (value === undefined) return new Uint8Array()
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw unkept(kind, 'cannot be written as JSON', cause)
  }
  if (text === undefined) throw unkept(kind, 'cannot be written as JSON')
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= defaults.maxAnswerBytes) return bytes
  throw unkept(kind, `takes ${bytes.byteLength} bytes, and at most ${defaults.maxAnswerBytes} are kept`)
}

/** The name of what was done is told to people: one that is missing must not undo that it was done. */
function providerIdOf(kind: EffectKind, result: Uint8Array, log: Log): string | undefined {
  if (kind.providerId === undefined) return undefined
  try {
    const id = kind.providerId(unpacked(result))
    if (id === undefined || isUsable(id)) return id
  } catch {
    // Told below.
  }
  const message = `providerId of effect "${kind.name}" gave no text of up to ${limits.keyLength} characters.`
  log({ level: 'warn', code: 'provider_id_unusable', message })
  return undefined
}

/** PostgreSQL keeps no text with a NUL in it. */
function isUsable(id: unknown): id is string {
  return typeof id === 'string' && id.length <= limits.keyLength && !id.includes('\0')
}

function unkept(kind: EffectKind, why: string, cause?: unknown): HapaxError {
  const message = `What the call of effect "${kind.name}" returned ${why}; return plain data, and only what you need.`
  return new HapaxError('input_not_json', message, { cause })
}

/** Not by a decoder, which takes as long for a small text as all the rest of unpacking it. */
function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}
