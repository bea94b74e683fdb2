import type { Duration } from 'hapax'

/** Enough for a partner on this machine, and for its slowness when that is asked for. */
const mostSeconds = 5
/** What is left of a lease when a call has ended in vain: time to write that down. */
const marginSeconds = 2

/** How long an operation that calls a partner may lie after a crash, and how long its calls may take within that. */
export function callTimes(lease: `${number}s`): { readonly lease: Duration; readonly timeout: Duration } {
  const leaseSeconds = Math.max(Number.parseInt(lease, 10), 1 + marginSeconds)
  return { lease: `${leaseSeconds}s`, timeout: `${Math.min(mostSeconds, leaseSeconds - marginSeconds)}s` }
}
