/** What a client may spend on retries, all operations together: in an outage it must not multiply its own load. */
export interface RetryBudget {
  /** An operation begins: it earns a share of a retry. */
  earn(): void
  /** Whether there is a retry left, and it is taken. */
  spend(): boolean
}

export function retryBudget(most: number, share: number): RetryBudget {
  let left = most
  return {
    earn() {
      left = Math.min(most, left + share)
    },
    spend() {
      if (left < 1) return false
      left -= 1
      return true
    },
  }
}
