/**
 * Parts as one: each stands behind its length in bytes, so that no choice of parts reads like another one.
 *
 * What was framed before, and kept as a copy, can be given as the head of what comes behind it.
 *
 * To be hashed at once: the next call writes over it. Every request frames something, and room for that is not made anew
 * each time.
 */
export function framed(parts: readonly (string | Uint8Array)[], head: Uint8Array = nothing): Buffer {
  let room: Buffer = withRoom(usual, 0, head.byteLength)
  let at = put(room, head, 0)
  for (const part of parts) {
    room = withRoom(room, at, at + lengthBytes + longest(part))
    const start = at + lengthBytes
    const length = typeof part === 'string' ? room.write(part, start) : put(room, part, start)
    room.writeUIntBE(length, at, lengthBytes)
    at = start + length
  }
  return room.subarray(0, at)
}

const nothing = new Uint8Array()

/** What most requests need. What a long body needs is let go of. */
const usual = Buffer.allocUnsafeSlow(16 * 1_024)

/** Holds every length a buffer can have. */
const lengthBytes = 6

/** A character takes three bytes at most; of those that take four each counts as two. */
function longest(part: string | Uint8Array): number {
  return typeof part === 'string' ? 3 * part.length : part.byteLength
}

function withRoom(room: Buffer, used: number, needed: number): Buffer {
  if (needed <= room.byteLength) return room
  const larger = Buffer.allocUnsafeSlow(needed + usual.byteLength)
  room.copy(larger, 0, 0, used)
  return larger
}

function put(room: Buffer, bytes: Uint8Array, at: number): number {
  if (bytes.byteLength > 0) room.set(bytes, at)
  return bytes.byteLength
}
