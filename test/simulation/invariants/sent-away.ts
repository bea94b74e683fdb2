import { violated } from '../violation.js'
import type { Task } from '../world/task.js'
import type { RecordChange } from './records.js'

/** Whoever is told one of these before he has a key is told that nothing happened. */
const nothingHappened: ReadonlySet<string> = new Set(['store_busy', 'waiting_room_full'])

/**
 * The same, since somebody else's request is under way, nobody knows what came of it, or what it was answered could not be kept.
 * A holder may be told so, too.
 */
const metAnother: ReadonlySet<string> = new Set(['idempotency_key_in_progress', 'outcome_unknown', 'answer_withheld'])

/** Whoever is told one of these cannot have taken a key. */
const notTaken: ReadonlySet<string> = new Set([
  'idempotency_key_missing',
  'idempotency_key_malformed',
  'idempotency_key_reused_with_different_payload',
  'idempotency_key_expired',
])

/**
 * Requests that were refused without a key: what they asked for does not happen then, nor later, whoever shares their
 * statements. A claim that was on its way when its line broke is nobody's doing.
 */
export interface SentAway {
  /** Whether this sends it away. */
  told(task: Task, code: string, name: string, claims: Claims): boolean
  /** Of a change that somebody waits for. */
  judge(change: RecordChange): void
  toJSON(): unknown
}

interface Claims {
  /** By their ids, what was found by those under which a key was taken: the request has run, or its line was broken. */
  readonly found: ReadonlyMap<string, unknown>
  /** Those of whom somebody waited for it. */
  readonly given: ReadonlyMap<string, number>
}

export function sentAway(): SentAway {
  /** By their claims, whose they were, and what these were told. */
  const away = new Map<string, { readonly name: string; readonly code: string }>()

  function judgeTaken(claimId: string): void {
    const told = away.get(claimId)
    if (told === undefined) return
    const { name, code } = told
    if (nothingHappened.has(code))
      violated(`${name} was told that nothing happened, and its key was taken for it later`)
    violated(`${name} was refused with ${code}, and its key was taken for it`)
  }

  return {
    toJSON: () => [...away],
    told({ firstId: claimId }, code, name, { found, given }) {
      if (claimId === undefined) return false
      const isAway = nothingHappened.has(code)
      if ((isAway || metAnother.has(code)) && found.has(claimId)) return false
      if (!isAway && !metAnother.has(code) && !notTaken.has(code)) return false
      away.set(claimId, { name, code })
      if (given.has(claimId)) judgeTaken(claimId)
      return isAway
    },
    judge({ before, after }) {
      if (away.size > 0 && after !== undefined && after.claimId !== before?.claimId) judgeTaken(after.claimId)
    },
  }
}
