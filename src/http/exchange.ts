import type { Answer } from '../engine/record.js'
import type { Work } from '../engine/work.js'
import type { Awaitable } from '../kernel/awaitable.js'

/** What goes back to the client: a status, headers and bytes. */
export type Reply = Answer

/**
 * One HTTP request as the door sees it, and the application behind it. An adapter translates its framework into this
 * and decides nothing.
 */
export interface Exchange<Tx> {
  readonly method: string
  /**
   * Whether many of them come in one turn of the event loop, and are better taken together, as those of a server of node.
   * Where a platform keeps requests apart, as Workers do, none may run on behalf of another.
   */
  readonly comesInTurns?: true
  /** Path and query as they came. */
  readonly target: string
  /** Every line of a header apart, as they came; names in lower case. Joined, two keys would pass for one. */
  lines(name: string): readonly string[]
  /** The body as it came. Rejects with `body_too_large` as soon as it is longer than `limit`. */
  body(limit: number): Awaitable<Uint8Array>
  /** Lets the application answer. What it has answered by then need not be a promise. */
  run(work: Work<Tx>): Awaitable<unknown>
  /** What the application answered, given what `run` or `work.commit` gave. */
  captured(value: unknown): Awaitable<Reply>
}

/** How an exchange ended: with a reply to send; or the route does not guard this method, and the application goes on. */
export type Handled<Tx> =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'unguarded'; readonly work: Work<Tx> }
