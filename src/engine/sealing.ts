import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { HapaxError } from '../kernel/errors.js'
import { framed } from './framed.js'
import { isName } from './name.js'
import type { RecordName } from './record.js'

/** The keys by which inputs and the results of phases are encrypted at rest. */
export interface EncryptionOptions {
  /** The name of the key that new data is encrypted with. */
  readonly current: string
  /** Every key that stored data may still be encrypted with, by name: 32 bytes each, as bytes or in base64. */
  readonly keys: Readonly<Record<string, Uint8Array | string>>
}

/** Encrypts what the engine keeps for itself, bound to its record: moved to another one, it cannot be read. */
export interface Sealer {
  seal(plain: Uint8Array, name: RecordName): Uint8Array
  /** Throws `progress_unreadable` when the key is not known here, or the bytes are not what was sealed. */
  open(sealed: Uint8Array, name: RecordName): Uint8Array
}

/** The first byte of what is sealed; what is not is JSON, which never begins with it. */
const mark = 1
const ivBytes = 12
const tagBytes = 16
const keyBytes = 32

/** AES-256-GCM, or, without keys, nothing: then only what was never sealed can be read. */
export function sealerOf(options: EncryptionOptions | undefined): Sealer {
  const keys = keysOf(options)
  return {
    seal(plain, name) {
      if (options === undefined) return plain
      const iv = randomBytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', keyNamed(keys, options.current), iv)
      cipher.setAAD(framed([name.scope, name.key]))
      const body = Buffer.concat([cipher.update(plain), cipher.final()])
      const label = Buffer.from(options.current)
      return Buffer.concat([Buffer.from([mark, label.byteLength]), label, iv, cipher.getAuthTag(), body])
    },
    open(sealed, name) {
      if (sealed[0] !== mark) return sealed
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
      const ivAt = 2 + (bytes[1] ?? 0)
      const tagAt = ivAt + ivBytes
      const bodyAt = tagAt + tagBytes
      const label = bytes.subarray(2, ivAt).toString()
      const key = keyNamed(keys, label)
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(ivAt, tagAt), { authTagLength: tagBytes })
        decipher.setAAD(framed([name.scope, name.key]))
        decipher.setAuthTag(bytes.subarray(tagAt, bodyAt))
        return Buffer.concat([decipher.update(bytes.subarray(bodyAt)), decipher.final()])
      } catch (cause) {
        throw new HapaxError('progress_unreadable', `What was encrypted with key "${label}" cannot be read with it.`, {
          cause,
        })
      }
    },
  }
}

function keysOf(options: EncryptionOptions | undefined): ReadonlyMap<string, Buffer> {
  if (options === undefined) return new Map()
  const keys = new Map(Object.entries(options.keys).map(([name, key]) => [name, keyOf(name, key)]))
  if (keys.has(options.current)) return keys
  throw new HapaxError(
    'policy_invalid',
    `encryption: there is no key "${options.current}" to encrypt with; add it to keys.`,
  )
}

function keyOf(name: string, key: Uint8Array | string): Buffer {
  if (!isName(name))
    throw new HapaxError('policy_invalid', 'encryption: name each key in up to 100 printable characters.')
  const bytes = typeof key === 'string' ? Buffer.from(key, 'base64') : Buffer.from(key)
  if (bytes.byteLength === keyBytes) return bytes
  const message = `encryption: key "${name}" has ${bytes.byteLength} bytes; make one of ${keyBytes}: openssl rand -base64 ${keyBytes}`
  throw new HapaxError('policy_invalid', message)
}

function keyNamed(keys: ReadonlyMap<string, Buffer>, name: string): Buffer {
  const key = keys.get(name)
  if (key !== undefined) return key
  throw new HapaxError(
    'progress_unreadable',
    `It was encrypted with key "${name}", which is not among encryption.keys here.`,
  )
}
