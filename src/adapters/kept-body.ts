import type { Readable } from 'node:stream'
import { tooLarge } from '../http/port.js'

/**
 * The bytes of a body, which are put back before the stream has ended: whoever reads it next, a parser or the handler,
 * finds it whole. What comes after the limit is read and dropped, since a client that still sends would not see the
 * answer otherwise.
 */
export async function keptBody(
  stream: Readable & { readonly complete?: boolean },
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  // A request is handed out before node has looked behind its head: whether it is complete is known a moment later.
  await undefined
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const isEmpty = () => stream.complete === true && length === 0 && stream.readableLength === 0
    const settle = (decide: () => void) => {
      stream.off('readable', read).off('end', finish).off('error', fail).off('close', fail)
      decide()
    }
    const finish = () => settle(() => resolve(Buffer.concat(chunks)))
    const fail = (error?: unknown) => settle(() => reject(error ?? new Error('The client went away.')))
    const read = () => {
      // To read a body that has nothing would end it, and a parser behind us may not take a stream that has ended.
      if (isEmpty()) return finish()
      for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) {
        chunks.push(chunk)
        length += chunk.byteLength
        if (length > limit) {
          settle(() => reject(tooLarge(limit)))
          stream.resume()
          return
        }
      }
      // All of it is here and `end` is not out yet: only now may it be put back.
      if (stream.complete !== true) return
      const body = Buffer.concat(chunks)
      stream.unshift(body)
      settle(() => resolve(body))
    }
    if (stream.readableEnded || isEmpty()) return finish()
    stream.on('readable', read).on('end', finish).on('error', fail).on('close', fail)
  })
}
