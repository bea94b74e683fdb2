import type { StoredRecord } from '../../engine/record.js'
import type { Verdict } from '../../engine/verdict.js'
import { invariant } from '../../kernel/errors.js'
import { recordOf } from './record-fields.js'
import { listOf, numberOf, type Reply, textOf } from './reply.js'

/** What the script `reserve` gives. */
export function verdictOf(reply: Reply): Verdict {
  const [first, second, third] = listOf(reply)
  const kind = textOf(first)
  switch (kind) {
    case 'reserved':
    case 'resumed': {
      const record = recordOf(third)
      return { kind, claim: claimOf(record), record }
    }
    case 'completed':
      return completedVerdict(recordOf(third), numberOf(second))
    case 'in_progress':
      return { kind, leaseLeftMs: numberOf(second) }
    case 'unknown':
      return { kind, reconcileInMs: numberOf(second) }
    case 'swept':
      return { kind: 'unknown', reconcileInMs: numberOf(second), swept: true }
    case 'expired':
      return { kind, generation: numberOf(second) }
    case 'incomparable':
      return { kind, recipe: textOf(second), operation: textOf(third) }
    case 'mismatched':
    case 'new':
      return { kind }
    default:
      throw new Error(`unreachable: the script gives a verdict, never "${kind}"`)
  }
}

function claimOf({ scope, key, generation, fence, claimId }: StoredRecord) {
  return { scope, key, generation, fence, claimId }
}

function completedVerdict(record: StoredRecord, now: number): Verdict {
  const { answer, expiresAt } = record
  invariant(answer, 'a completed record has an answer')
  return { kind: 'completed', answer, record, expiresInMs: expiresAt === undefined ? undefined : expiresAt - now }
}
