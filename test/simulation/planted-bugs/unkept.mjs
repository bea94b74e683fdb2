/**
 * Answers and results that cannot be kept.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const unkeptBugs = [
  {
    bug: 'a handler whose answer nobody can write down has failed, and runs again',
    patch: {
      file: 'src/engine/evidence.ts',
      from: "return { kind: 'complete', answer: undefined }",
      to: "return { kind: 'fail', errorCode: codeOf(result.error) }",
    },
    caughtBy: { case: 'two requests whose answer nobody can write down, one crash, one ambiguous commit' },
    says: /a second payout/,
  },
  {
    bug: 'an effect whose result cannot be kept is tried again',
    patch: {
      file: 'src/effects/carrying.ts',
      from: "return settled(held, doubted('result_lost'), around)",
      to: "return settled(held, { kind: 'retry', dueInMs: 1_000, errorCode: 'result_lost' }, around)",
    },
    caughtBy: {
      case: 'an effect whose result cannot be kept against its reconciler and another worker, one broken line',
    },
    says: /a second shipment for .* was asked for blindly/,
  },
  {
    bug: 'a call whose result cannot be kept was not sent',
    patch: {
      file: 'src/engine/calling.ts',
      from: "if (classify === undefined || isHapaxError(error, 'input_not_json')) return 'doubt'",
      to: "if (classify === undefined || isHapaxError(error, 'input_not_json'))\n    return isHapaxError(error, 'input_not_json') ? 'not_sent' : 'doubt'",
    },
    caughtBy: { case: 'a call whose result cannot be kept against the reconciler and a retry, one broken line' },
    says: /a second transfer for .* was asked for blindly/,
  },
  {
    bug: 'the time of an answer that is too long to be kept is over at once',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "  if (record.state === 'expired') return true\n  if (record.expiresAt",
      to: "  if (record.state === 'expired' || record.answer?.kind === 'withheld') return true\n  if (record.expiresAt",
    },
    caughtBy: { case: 'three requests whose answer is too long to be kept, two of them at one node, one crash' },
    says: /expired before its time/,
  },
  {
    bug: 'what is too long to be kept is cut off',
    patch: {
      file: 'src/engine/held-work.ts',
      from: "return { kind: 'withheld', status: answer.status, headers: answer.headers, bytes }",
      to: 'return kept({ ...answer, body: answer.body.subarray(0, policy.maxAnswerBytes) })',
    },
    caughtBy: { case: 'three requests whose answer is too long to be kept, two of them at one node, one crash' },
    says: /was sent something else than what is stored/,
  },
  {
    bug: 'whoever asks for what was not kept is not told where to look',
    patch: {
      file: 'src/http/replies.ts',
      from: "const place = headers.filter(([name]) => name.toLowerCase() === 'location')",
      to: "const place = headers.filter(([name]) => name.toLowerCase() === 'nowhere')",
    },
    caughtBy: { case: 'three requests whose answer is too long to be kept, two of them at one node, one crash' },
    says: /was sent something else than what is stored/,
  },
]
