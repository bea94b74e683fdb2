import type { Sent } from '../client.js'
import { violated } from '../violation.js'
import type { Task } from '../world/task.js'
import type { RecordChange } from './records.js'

/** Whoever is told one of these before he has a key is told that nothing happened. */
const nothingHappened: ReadonlySet<string> = new Set(['store_busy', 'waiting_room_full'])

/** Requests that were sent away: what they asked for does not happen then, nor later, whoever shares their statements. */
export interface SentAway {
  /** Whether this sends it away. `hasClaimed`: under this claim a key was taken before, so that the request has run. */
  told(task: Task, sent: Sent, name: string, hasClaimed: (claimId: string) => boolean): boolean
  judge(change: RecordChange): void
  toJSON(): unknown
}

export function sentAway(): SentAway {
  /** By their claims, whose they were. */
  const names = new Map<string, string>()
  return {
    toJSON: () => [...names],
    told({ firstId: claimId }, { status, body }, name, hasClaimed) {
      if (claimId === undefined || (status !== 503 && status !== 429) || hasClaimed(claimId)) return false
      const { code = '' } = JSON.parse(body) as { readonly code?: string }
      if (!nothingHappened.has(code)) return false
      names.set(claimId, name)
      return true
    },
    judge({ before, after }) {
      if (names.size === 0 || after === undefined || after.claimId === before?.claimId) return
      const name = names.get(after.claimId)
      if (name !== undefined) violated(`${name} was told that nothing happened, and its key was taken for it later`)
    },
  }
}
