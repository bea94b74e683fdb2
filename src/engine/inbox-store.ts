/** An event as its provider names it. */
export interface ReceivedEvent {
  readonly provider: string
  readonly eventId: string
}

/** Something that was said about one call or effect, by the downstream key that it carried. */
export interface Testimony {
  readonly downstreamKey: string
  readonly says: 'landed' | 'not_landed'
  readonly result?: Uint8Array
  readonly by: string
  readonly why: string
}

export type Receipt<T> = { readonly kind: 'processed'; readonly value: T } | { readonly kind: 'duplicate' }

/** The part of a store that remembers which events came. */
export interface InboxStore<Tx> {
  /**
   * Inserts the event and runs `body` in the same transaction, with the testimonies that it gives back. A known event
   * runs nothing. While another delivery of the same event is under way this waits for it, within the bound of a
   * statement.
   */
  receive<T>(
    event: ReceivedEvent,
    body: (tx: Tx) => Promise<{ readonly value: T; readonly testimonies: readonly Testimony[] }>,
  ): Promise<Receipt<T>>
}
