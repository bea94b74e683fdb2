/** What a provider keeps and tells. Everything here is plain data, and lies in its journal as it is. */

/** The object that an operation made or moved on: a charge, an escrow, a message. */
export interface Thing {
  readonly id: string
  readonly object: string
  readonly status: string
  /** Of the last operation on it, as is its name. */
  readonly key: string | null
  readonly operation: string
  readonly createdAt: string
  readonly updatedAt: string
  /** What else was sent. */
  readonly [field: string]: unknown
}

/** One effect. A replay, a refusal and a decline are none. */
export interface Entry {
  readonly id: string
  readonly provider: string
  readonly operation: string
  readonly key: string | null
  /** As the caller sent it. */
  readonly amount: unknown
  readonly currency: unknown
  readonly object: string
  readonly at: string
  readonly reference?: unknown
}

export interface ProviderEvent {
  readonly id: string
  readonly type: string
  readonly createdAt: string
  readonly provider: string
  readonly data: { readonly operation: string; readonly key: string | null; readonly object: Thing }
}

/** What an object that is not final yet becomes. */
export interface Awaited {
  readonly status: string
  readonly by: 'webhook' | 'manual'
}

/** A change of a provider, with everything that follows from it, so that a crash takes all of it or nothing. */
export type Line =
  | {
      readonly kind: 'effect'
      readonly entry: Entry
      readonly digest: string
      readonly status: number
      /** As the effect left it: also the answer. */
      readonly thing: Thing
      readonly awaited?: Awaited
      readonly event?: ProviderEvent
    }
  | { readonly kind: 'declined'; readonly key: string; readonly digest: string; readonly at: string }
  | { readonly kind: 'settled'; readonly thing: Thing; readonly event?: ProviderEvent }
  | { readonly kind: 'delivered' | 'abandoned'; readonly event: string }
