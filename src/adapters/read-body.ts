import type { IncomingMessage } from 'node:http'
import { tooLarge } from '../http/port.js'
import { clientGone } from './answered-errors.js'

/** What comes after the limit is read and dropped: a client that still sends would not see the answer otherwise. */
export function readBody(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const left = () => reject(clientGone)
    if (request.readableEnded) return resolve(new Uint8Array())
    if (request.destroyed) return left()
    request.on('data', (chunk: Buffer) => {
      length += chunk.byteLength
      if (length <= limit) chunks.push(chunk)
      else reject(tooLarge(limit))
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', left).on('close', left)
  })
}
