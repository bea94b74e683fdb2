import type { Work } from '../http/port.js'

/**
 * A work whose commit can be waited for. A handler that writes its response inside `work.commit` has answered before
 * the commit has ended, and nothing may be made of the answer until then.
 */
export interface AwaitedCommit<Tx> {
  readonly work: Work<Tx>
  /** Settles with the commit; `undefined` when there was none. */
  committing(): Promise<void> | undefined
}

export function awaitedCommit<Tx>(work: Work<Tx>): AwaitedCommit<Tx> {
  const commits: Promise<unknown>[] = []
  // Beside the work and not a copy of it, which would ask for its signal.
  const awaited: Work<Tx> = Object.create(work, {
    commit: {
      value(body: Parameters<Work<Tx>['commit']>[0]) {
        const commit = work.commit(body)
        // Whoever called commit hears of its failure; nobody may wait for it here.
        commit.catch(() => {})
        commits.push(commit)
        return commit
      },
    },
  })
  return {
    work: awaited,
    committing: () => (commits.length === 0 ? undefined : Promise.all(commits).then(() => undefined)),
  }
}
