import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'

/** What a body may be wrapped in. A client may wrap the same body otherwise the next time. */
const decoders = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const

/**
 * The body without its content encoding, never longer than `limit`: a few bytes may unfold into gigabytes. Only for
 * telling requests apart; the application gets the body as it came.
 */
export function decoded(
  body: Uint8Array,
  encodings: readonly string[],
  limit: number,
): Uint8Array | Promise<Uint8Array> {
  return encodings.length === 0 ? body : withoutAll(body, encodings, limit)
}

async function withoutAll(body: Uint8Array, encodings: readonly string[], limit: number): Promise<Uint8Array> {
  const names = encodings.flatMap((line) => line.split(',')).map((name) => name.trim().toLowerCase())
  const wraps = names.filter((name) => name !== '' && name !== 'identity')
  if (wraps.length > limits.contentEncodings) throw tooManyTimes()
  let bytes = body
  for (const name of wraps.reverse()) bytes = await unwrapped(bytes, name, limit)
  return bytes
}

async function unwrapped(bytes: Uint8Array, name: string, limit: number): Promise<Uint8Array> {
  const decode = Object.hasOwn(decoders, name) ? decoders[name as keyof typeof decoders] : undefined
  if (decode === undefined) {
    const known = Object.keys(decoders).join(', ')
    throw new HapaxError('body_encoding_unsupported', `Content-Encoding may be ${known}, or left out.`)
  }
  try {
    return await decode(bytes, { maxOutputLength: Math.max(limit, 1) })
  } catch (error) {
    throw (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(limit) : invalid(name, error)
  }
}

function tooManyTimes(): HapaxError {
  const message = `A body may be encoded ${limits.contentEncodings} times at most; once is enough.`
  return new HapaxError('body_encoding_unsupported', message)
}

export function tooLarge(limit: number): HapaxError {
  return new HapaxError('body_too_large', `Send at most ${limit} bytes.`)
}

function invalid(name: string, cause: unknown): HapaxError {
  return new HapaxError('body_encoding_invalid', `The body is not ${name}. Send it anew, or without encoding.`, {
    cause,
  })
}
