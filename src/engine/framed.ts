import type { Hash, Hmac } from 'node:crypto'

/** Feeds each part behind its length in bytes, so that no choice of parts reads like another one. */
export function framed<H extends Hash | Hmac>(hash: H, parts: Iterable<string | Uint8Array>): H {
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    const length = Buffer.allocUnsafe(lengthBytes)
    length.writeUIntBE(bytes.byteLength, 0, lengthBytes)
    hash.update(length).update(bytes)
  }
  return hash
}

/** Holds every length a buffer can have. */
const lengthBytes = 6
