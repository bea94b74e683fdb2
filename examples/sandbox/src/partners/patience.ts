import type { Settings } from '../settings.js'

/** How long a partner may take to answer, and how long a crash locks a key meanwhile. */
export interface Patience {
  readonly lease: `${number}s`
  readonly timeout: `${number}s`
}

/** A call has to end a second before the lease does: nobody else may come while it is still on its way. */
const marginSeconds = 1
const longestCallSeconds = 5

export function patienceOf({ lease }: Pick<Settings, 'lease'>): Patience {
  const leaseSeconds = Math.max(Number.parseInt(lease, 10), marginSeconds + 1)
  return { lease: `${leaseSeconds}s`, timeout: `${Math.min(longestCallSeconds, leaseSeconds - marginSeconds)}s` }
}
