/** Parts as one: each stands behind its length in bytes, so that no choice of parts reads like another one. */
export function framed(parts: readonly (string | Uint8Array)[]): Buffer {
  let size = 0
  for (const part of parts) size += lengthBytes + lengthOf(part)
  const whole = Buffer.allocUnsafe(size)
  let at = 0
  for (const part of parts) {
    const length = lengthOf(part)
    whole.writeUIntBE(length, at, lengthBytes)
    at += lengthBytes
    if (typeof part === 'string') whole.write(part, at)
    else whole.set(part, at)
    at += length
  }
  return whole
}

/** Holds every length a buffer can have. */
const lengthBytes = 6

function lengthOf(part: string | Uint8Array): number {
  return typeof part === 'string' ? Buffer.byteLength(part) : part.byteLength
}
