/** An event of a provider, by what makes it one. */
export interface ReceivedEvent {
  readonly provider: string
  readonly eventId: string
}

/** Something that was said about one call or effect, by the downstream key that it carried. */
export interface Testimony {
  readonly downstreamKey: string
  readonly says: 'landed' | 'not_landed'
  /** What the call would have returned, as JSON. */
  readonly result?: Uint8Array
  /** `webhook:airtm`, `operator:…`. */
  readonly by: string
  readonly why: string
}

/** What came of a delivery. */
export type Receipt<T> = { readonly kind: 'processed'; readonly value: T } | { readonly kind: 'duplicate' }

/** The port to the inbox: each event of a provider is processed once. */
export interface InboxStore<Tx> {
  /**
   * Inserts the event and runs `body` in the same transaction, with the testimonies that it gives back; what is in doubt
   * about them is due from then on. A known event runs nothing. While another delivery of the same event is under way this
   * waits for it, within the bound of a statement.
   */
  receive<T>(
    event: ReceivedEvent,
    body: (tx: Tx) => Promise<{ readonly value: T; readonly testimonies: readonly Testimony[] }>,
  ): Promise<Receipt<T>>
  /** Forgets up to `limit` events that were processed longer than `keepMs` ago: a redelivery of one would be processed anew. */
  reap(limit: number, keepMs: number): Promise<number>
}
