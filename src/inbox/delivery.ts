import type { Awaitable } from '../kernel/awaitable.js'

/** Headers as servers have them: a `Headers`, a `Map`, a list of pairs, or the object of `node:http`. */
export type HeaderSource =
  | Iterable<readonly [name: string, value: string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** A delivery as it came. */
export interface IncomingDelivery {
  readonly headers: HeaderSource
  /** The bytes as they were sent: what is signed. Servers have `undefined` where nothing was sent. */
  readonly body: Uint8Array | undefined
}

/** A delivery as whoever verifies it sees it. */
export interface Delivery {
  /** Names in any case. A header of several lines is joined with commas, as servers do. */
  readonly headers: { get(name: string): string | undefined }
  readonly body: Uint8Array
}

/** What a delivery is known to be, once its signature and its time have been checked. */
export interface Verified {
  /** What the provider calls the event: the same on every delivery of it. */
  readonly eventId: string
}

/**
 * Says who sent a delivery, or throws a HapaxError: `webhook_signature_invalid`, `webhook_timestamp_refused` or
 * `webhook_malformed`. `now` is the time in milliseconds since 1970. Whatever else it throws is a bug on this side.
 */
export type Verify = (delivery: Delivery, at: { readonly now: number }) => Awaitable<Verified>

export function headersOf(source: HeaderSource): Delivery['headers'] {
  const lines = new Map<string, string>()
  const pairs = Symbol.iterator in source ? source : Object.entries(source as Record<string, HeaderValue>)
  for (const [name, value] of pairs as Iterable<readonly [string, HeaderValue]>) {
    if (value === undefined) continue
    const told = typeof value === 'string' ? value : value.join(', ')
    const before = lines.get(name.toLowerCase())
    lines.set(name.toLowerCase(), before === undefined ? told : `${before}, ${told}`)
  }
  return { get: (name) => lines.get(name.toLowerCase()) }
}

type HeaderValue = string | readonly string[] | undefined
