/** What a handler holds while it runs. */
export interface Work<Tx = never> {
  readonly generation: number
  /** 1 on the first try of this generation. */
  readonly attempt: number
  /** The last phase that committed; `started` when none has. */
  readonly recoveryPoint: string
  /** Aborts when the claim is lost: whatever this handler does from then on may be done by another too. */
  readonly signal: AbortSignal
  /**
   * Says that something may or may not have happened. Whatever the handler answers after this, the key becomes
   * `unknown` and nothing runs again until evidence settles it. `code` is a short word for operators, like
   * `gateway_timeout`; it is kept with the record and told in events, so it must hold no data.
   */
  doubt(code: string): void
  /**
   * Business rows and the answer in one commit of the store's database. What `body` returns is the answer, whatever
   * the handler does after it; if the claim is lost by then, the rows roll back and this throws `claim_lost`. When it fails,
   * and none that comes later succeeds, the request has failed, even if the handler catches the error: what it answers then
   * was meant for rows that are not there.
   *
   * @example
   * return work.commit(async ({ tx }) => {
   *   await tx.run({ sql: 'insert into payments (id, cents) values (?, ?)', parameters: [id, cents] })
   *   return { id, cents }
   * })
   */
  commit<T>(body: (at: { readonly tx: Tx }) => Promise<T>): Promise<T>
}
