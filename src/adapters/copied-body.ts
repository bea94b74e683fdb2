import { tooLarge } from '../http/port.js'
import { bytesOf } from './streamed-bytes.js'

/** The bytes of a copy: the request goes on to the handler as it came, of its own class, and can be read once more. */
export async function copiedBody(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const copy = request.body ? request.clone().body : null
  const bytes = await bytesOf(copy, limit)
  if (bytes !== undefined) return bytes
  // Both have to be let go of before the source hears that nobody wants more. Nobody need wait for that.
  for (const stream of [copy, request.body]) stream?.cancel().catch(() => {})
  throw tooLarge(limit)
}
