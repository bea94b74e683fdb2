import { invariant } from '../kernel/errors.js'
import type { Answered } from './outcome.js'
import type { Policy } from './policy.js'
import type { StoredAnswer, StoredRecord } from './record.js'

/** The stored answer of a record, brought to the version in force where the policy knows how. */
export function replay(policy: Policy, record: StoredRecord): Answered {
  const { answer, generation, expiresAt } = record
  invariant(answer, 'a completed record has an answer')
  return {
    kind: 'answered',
    answer: upgraded(policy, answer, record),
    stored: true,
    replayed: true,
    generation,
    expiresAt,
  }
}

function upgraded(policy: Policy, answer: StoredAnswer, { answerVersion }: StoredRecord): StoredAnswer {
  const { upgradeAnswer } = policy
  if (answer.kind !== 'kept' || upgradeAnswer === undefined) return answer
  if (answerVersion === undefined || answerVersion >= policy.answerVersion) return answer
  return { kind: 'kept', ...upgradeAnswer(answer, answerVersion) }
}
