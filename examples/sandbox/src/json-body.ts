import type { IncomingMessage } from 'node:http'
import { Problem } from './problem.js'

const mostBytes = 1_000_000

/** A JSON body: what it says, and the bytes as they came, by which a retry is told from another request. */
export interface JsonBody {
  readonly value: unknown
  readonly bytes: Uint8Array
}

/** Reads a JSON body within its limit. */
export async function jsonBody(request: IncomingMessage): Promise<JsonBody> {
  refuseOtherMedia(request)
  const bytes = await wholeBody(request)
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)), bytes }
  } catch (cause) {
    throw new Problem(
      { status: 400, code: 'body_not_json', title: 'The body is not JSON.', detail: 'Send one JSON object in UTF-8.' },
      cause,
    )
  }
}

function refuseOtherMedia({ headers }: IncomingMessage): void {
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';', 1)
  const encoding = headers['content-encoding'] ?? 'identity'
  if (mediaType.trim().toLowerCase() === 'application/json' && encoding === 'identity') return
  throw new Problem({
    status: 415,
    code: 'media_type_unsupported',
    title: 'The body is of a kind that is not read here.',
    detail: 'Send "Content-Type: application/json" and no Content-Encoding.',
    headers: { 'Accept-Post': 'application/json' },
  })
}

/** What comes after the limit is read and dropped: a client that still sends would not see the answer otherwise. */
function wholeBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.byteLength
      if (bytes <= mostBytes) chunks.push(chunk)
      else reject(tooLarge())
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
  })
}

function tooLarge(): Problem {
  return new Problem({
    status: 413,
    code: 'body_too_large',
    title: 'The body is too large.',
    detail: `Send at most ${mostBytes} bytes.`,
  })
}
