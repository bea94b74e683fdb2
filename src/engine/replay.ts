import { invariant } from '../kernel/errors.js'
import type { Answered } from './outcome.js'
import type { Policy } from './policy.js'
import type { StoredAnswer, StoredRecord } from './record.js'

/** What is told of a record when its answer is given again. */
export type Replayable = Pick<StoredRecord, 'answer' | 'answerVersion' | 'generation' | 'expiresAt' | 'trace'>

/** The stored answer of a record, brought to the version in force where the policy knows how. */
export function replay(policy: Policy, record: Replayable): Answered {
  const { answer, generation, expiresAt, trace } = record
  invariant(answer, 'a completed record has an answer')
  return {
    kind: 'answered',
    answer: upgraded(policy, answer, record),
    stored: true,
    replayed: true,
    generation,
    expiresAt,
    trace,
  }
}

function upgraded(policy: Policy, answer: StoredAnswer, { answerVersion }: Replayable): StoredAnswer {
  const { upgradeAnswer } = policy
  if (answer.kind !== 'kept' || upgradeAnswer === undefined) return answer
  if (answerVersion === undefined || answerVersion >= policy.answerVersion) return answer
  return { kind: 'kept', ...upgradeAnswer(answer, answerVersion) }
}
