import type { FingerprintSource } from '../engine/fingerprint/source.js'
import type { Exchange } from './exchange.js'
import { targetOf } from './target.js'

/** What of a request tells it from others. */
export class RequestSource<Tx> implements FingerprintSource {
  readonly subject: readonly string[]
  readonly query: string | undefined
  readonly mediaType: string | undefined
  readonly body: Uint8Array
  readonly #exchange: Exchange<Tx>

  constructor(exchange: Exchange<Tx>, body: Uint8Array) {
    const { subject, query } = targetOf(exchange)
    this.subject = subject
    this.query = query
    this.mediaType = exchange.lines('content-type')[0]
    this.body = body
    this.#exchange = exchange
  }

  /** Lines of one name are one list. */
  header(name: string): string | undefined {
    const lines = this.#exchange.lines(name)
    return lines.length === 0 ? undefined : lines.join(', ')
  }
}
