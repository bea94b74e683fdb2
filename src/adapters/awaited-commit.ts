import type { Work } from '../http/port.js'

/**
 * A work whose commit can be waited for. A handler that writes its response inside `work.commit` has answered before
 * the commit has ended, and nothing may be made of the answer until then.
 */
export function awaitedCommit<Tx>(work: Work<Tx>): { readonly work: Work<Tx>; readonly settled: () => Promise<void> } {
  let committing: Promise<unknown> | undefined
  return {
    work: {
      generation: work.generation,
      attempt: work.attempt,
      recoveryPoint: work.recoveryPoint,
      // Only asked for when the handler does: see the lease.
      get signal() {
        return work.signal
      },
      doubt: work.doubt,
      commit(body) {
        const commit = work.commit(body)
        committing = Promise.all([committing, commit])
        // Whoever called commit hears of its failure; nobody may wait for it here.
        committing.catch(() => {})
        return commit
      },
    },
    settled: async () => void (await committing),
  }
}
