import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { tooLarge } from '../http/port.js'
import type { Awaitable } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import { keptBody } from './kept-body.js'

/** A request as node gives it says whether it is complete. One that is injected, or a stream in its place, does not. */
type Incoming = Readable & { readonly complete?: boolean }

type Encoding = BufferEncoding | undefined

/**
 * Keeps the bytes of a body while a parser reads it, and gives them afterwards. It looks at what comes in and not at
 * what is read: to read the stream before the parser and put it back would cost more than all the rest of an adapter.
 */
export class WatchedBody {
  readonly #stream: Incoming
  readonly #limit: number
  readonly #push: Readable['push']
  #chunks: Uint8Array[] = []
  #length = 0
  #isWhole: boolean
  #isOdd = false
  /** Set while the end of the stream is held back. */
  #onEnd: (() => void) | undefined

  constructor(stream: Incoming, limit: number) {
    this.#stream = stream
    this.#limit = limit
    this.#push = stream.push
    this.#isWhole = stream.complete === true
    if (stream.readableLength > 0) this.#keepEarly()
    stream.push = (chunk, encoding) => this.#pushed(chunk, encoding)
  }

  bytes(): Awaitable<Uint8Array> {
    return this.#isWhole ? this.#whole() : this.#read().then(() => this.#whole())
  }

  /** A parser that gives the stream itself to the handler has not read it, or not to its end. */
  #read(): Promise<unknown> {
    if (this.#stream.readableFlowing !== null) return finished(this.#stream, { writable: false })
    return this.#stream.complete === undefined ? this.#gathered() : keptBody(this.#stream, this.#limit)
  }

  /** Reads all of a stream that does not know whether it is complete, and puts it back before it has ended. */
  async #gathered(): Promise<void> {
    const stream = this.#stream
    const drop = () => {
      while (stream.read() !== null);
    }
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = resolve
    })
    stream.on('readable', drop)
    try {
      await Promise.race([ended, finished(stream, { writable: false }).then(endedBefore)])
    } finally {
      stream.off('readable', drop)
      this.#onEnd = undefined
    }
    if (this.#length > 0 && this.#length <= this.#limit) stream.unshift(this.#whole())
    this.#push.call(stream, null)
  }

  /** A hook that took its time before us has let something come in. */
  #keepEarly(): void {
    const early: unknown[] = []
    for (let chunk = this.#stream.read(); chunk !== null; chunk = this.#stream.read()) early.push(chunk)
    for (const chunk of early) this.#keep(chunk, this.#stream.readableEncoding ?? undefined)
    for (const chunk of early.reverse()) this.#stream.unshift(chunk)
  }

  #pushed(chunk: unknown, encoding: Encoding): boolean {
    if (chunk !== null) this.#keep(chunk, encoding)
    else {
      this.#isWhole = true
      if (this.#onEnd !== undefined) {
        this.#onEnd()
        return false
      }
    }
    return this.#push.call(this.#stream, chunk, encoding)
  }

  #keep(chunk: unknown, encoding: Encoding): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    if (!(bytes instanceof Uint8Array)) {
      this.#isOdd = true
      return
    }
    this.#length += bytes.byteLength
    if (this.#length > this.#limit) this.#chunks = []
    // Most bodies are one chunk, and the first that is pushed into an array makes it room for many.
    else if (this.#chunks.length === 0) this.#chunks = [bytes]
    else this.#chunks.push(bytes)
  }

  #whole(): Uint8Array {
    if (this.#isOdd) throw noBytes()
    if (this.#length > this.#limit) throw tooLarge(this.#limit)
    return this.#chunks[1] === undefined ? (this.#chunks[0] ?? new Uint8Array()) : Buffer.concat(this.#chunks)
  }
}

/** Its end was out before anybody asked, so nothing can be put back any more. */
function endedBefore(): never {
  const message =
    'A preParsing hook replaced the body by a stream that had ended before its parser, which leaves it to the handler; give that hook to the route.'
  throw new HapaxError('policy_invalid', message)
}

function noBytes(): HapaxError {
  const message =
    'A preParsing hook replaced the body by a stream of something else than bytes, which cannot be compared.'
  return new HapaxError('policy_invalid', message)
}
