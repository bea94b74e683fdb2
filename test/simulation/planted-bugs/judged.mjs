/**
 * One for each judgement that none of the others shows to fail.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const judgedBugs = [
  {
    bug: 'whoever claims a record anew forgets what is known about it',
    patch: {
      file: 'src/engine/next-record.ts',
      from: '    trace: reservation.trace,\n    lastRunAt: now,\n  })',
      to: '    trace: reservation.trace,\n    evidence: noEvidence,\n    lastRunAt: now,\n  })',
    },
    caughtBy: { case: 'a call that was interrupted against sweeper and reconciler, one crash' },
    says: /evidence about acme\/k1 is gone/,
  },
  {
    bug: 'an effect is claimed although another worker has it',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: "effect.state === 'leased' && effect.onLeaseOver === 'resume' && isLeaseOver(effect, now)",
      to: "effect.state === 'leased' && effect.onLeaseOver === 'resume'",
    },
    caughtBy: { case: 'the effect worker, two crashes' },
    says: /effect 1 was taken from a worker that lives/,
  },
  {
    bug: 'evidence raises the fence',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '    claimId: noClaim,\n    evidence: [',
      to: '    claimId: noClaim,\n    fence: current.fence + 1,\n    evidence: [',
    },
    caughtBy: { case: 'a request against an operator, one crash' },
    says: /was claimed although it was unknown/,
  },
  {
    bug: 'the fence falls when a key is claimed anew',
    patch: {
      file: 'src/engine/next-record.ts',
      from: "    state: stateAfter(current.state, 'resume'),\n    fence: current.fence + 1,",
      to: "    state: stateAfter(current.state, 'resume'),\n    fence: current.fence - 1,",
    },
    caughtBy: { case: 'a retry against the resumer, one crash' },
    says: /the fence of acme\/k1 fell from 1 to 0/,
  },
  {
    bug: 'the fence falls when an effect is claimed',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: '    fence: current.fence + 1,',
      to: '    fence: current.fence - 1,',
    },
    caughtBy: { case: 'the effect worker against one that was stopped and goes on' },
    says: /the fence of effect 1 fell/,
  },
  {
    bug: 'what has not landed is a tombstone',
    patch: {
      file: 'src/engine/state.ts',
      from: "on: 'settle_not_landed', to: 'failed_retryable'",
      to: "on: 'settle_not_landed', to: 'expired'",
    },
    caughtBy: { case: 'a call that was interrupted against sweeper and reconciler, one crash' },
    says: /acme\/k1 went from unknown to expired/,
  },
  {
    bug: 'an effect that nobody knows of is given up',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: "  unknown: 'unknown',\n  dead",
      to: "  unknown: 'discarded',\n  dead",
    },
    caughtBy: { case: 'an effect whose reply is lost against its reconciler' },
    says: /effect 1 went from leased to discarded/,
  },
  {
    bug: 'what was answered a second ago runs again',
    patch: [
      {
        file: 'src/engine/state.ts',
        from: "  { from: 'failed_retryable', on: 'resume',",
        to: "  { from: 'completed', on: 'resume', to: 'in_progress', by: 'request' },\n  { from: 'failed_retryable', on: 'resume',",
      },
      {
        file: 'src/engine/transitions.ts',
        from: "      invariant(current.answer, 'a completed record has an answer')\n",
        to: "      if (now > (current.completedAt ?? 0) + 1_000) return taken('resumed', claimedAnew(current, reservation, now))\n      invariant(current.answer, 'a completed record has an answer')\n",
      },
    ],
    caughtBy: { seeds: 1_000 },
    says: /had an answer, and is in_progress/,
  },
  {
    bug: 'who was slow writes his own answer over the one of an operator',
    patch: [
      { file: 'src/engine/transitions.ts', from: '    claimId: noClaim,\n    evidence: [', to: '    evidence: [' },
      {
        file: 'src/engine/transitions.ts',
        from: "if (isRepeated(current, claim, 'completed')) return current\n",
        to: "if (isRepeated(current, claim, 'completed')) return changedRecord(current, { answer: completion.answer })\n",
      },
    ],
    caughtBy: { case: 'a holder that was stopped and goes on against the sweeper and an operator who answers for it' },
    says: /the answer of acme\/k1 changed/,
  },
  {
    bug: 'a key that is used anew is of an earlier generation',
    patch: {
      file: 'src/engine/next-record.ts',
      from: 'generation: last.generation + 1',
      to: 'generation: last.generation === 0 ? 2 : 1',
    },
    caughtBy: { case: 'a late retry against the reaper that buries its key, one crash' },
    says: /acme\/k1 went back to generation 1/,
  },
  {
    bug: 'a key that is used anew keeps its fence',
    patch: {
      file: 'src/engine/next-record.ts',
      from: '    fence: last.fence + 1,\n    claimId,',
      to: '    fence: Math.max(1, last.fence),\n    claimId,',
    },
    caughtBy: { case: 'a late retry against the reaper that buries its key, one crash' },
    says: /acme\/k1 was used anew under its old fence/,
  },
  {
    bug: 'a second attempt is taken for another request',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'equalFingerprints(candidate, current.fingerprint))) return undefined',
      to: 'equalFingerprints(candidate, current.fingerprint)) && (current as StoredRecord).attempt !== 2) return undefined',
    },
    caughtBy: { case: 'a retry against the resumer, one crash' },
    says: /is told of another request that nobody sent/,
  },
  {
    bug: 'what a transaction has written is undone, whatever it answers',
    patch: {
      file: 'src/engine/single.ts',
      from: "answer.status < 400 ? ('keep' as const) : ('undo' as const)",
      to: "'undo' as 'keep' | 'undo'",
    },
    caughtBy: { case: 'two requests as one transaction each, one crash, one ambiguous commit' },
    says: /was answered, and there are 0 of shipment/,
  },
  {
    bug: 'an effect that has landed is not applied',
    patch: { file: 'src/effects/carrying.ts', from: '      await apply(tx)\n', to: '' },
    caughtBy: { seeds: 1_000 },
    says: /was answered, and its row of shipped is missing/,
  },
  {
    bug: 'a malformed key is said to be missing',
    patch: {
      file: 'src/http/header.ts',
      from: "'idempotency_key_malformed'",
      to: "'idempotency_key_missing'",
    },
    caughtBy: { case: 'a request, and two at its node whose keys are misspelt, one crash' },
    says: /was refused with idempotency_key_missing, and not with idempotency_key_malformed/,
  },
  {
    bug: 'whoever meets a request that is under way is told that nobody knows, and renews its lease',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (leaseLeftMs > 0) return { verdict: { kind: 'in_progress', leaseLeftMs } }",
      to: 'if (leaseLeftMs > 0) return { verdict: unknownVerdict(current, now), next: leased(current, reservation.leaseMs, now) }',
    },
    caughtBy: { case: 'two requests, one crash, one ambiguous commit' },
    says: /was refused with outcome_unknown, and changed a record/,
  },
  {
    bug: 'an attempt that is given back takes the one before it along',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "const on = current.attempt > 1 ? 'release_attempt' : current.generation",
      to: 'const on = current.generation',
    },
    caughtBy: { seeds: 6_000 },
    says: /was given back although an earlier attempt had failed/,
  },
  {
    bug: 'whatever fails is given back, also when something is on record',
    patch: [
      {
        file: 'src/engine/transitions.ts',
        from: 'if (current === undefined || !nothingCommitted(current)) return undefined',
        to: 'if (current === undefined) return undefined',
      },
      {
        file: 'src/engine/finishing.ts',
        from: "ending.kind === 'release' && work.isUsed",
        to: "ending.kind === 'release' && work.isUsed === undefined",
      },
      {
        file: 'src/engine/evidence.ts',
        from: "  retry: (errorCode) => ({ kind: 'fail', errorCode }),",
        to: "  retry: () => ({ kind: 'release' }),",
      },
    ],
    caughtBy: { case: 'the reaper against half-done work, one broken line' },
    says: /was given back although something had happened/,
  },
  {
    bug: 'who fails is given back, although he may have made his call by himself',
    patch: [
      {
        file: 'src/engine/finishing.ts',
        from: "ending.kind === 'release' && work.isUsed",
        to: "ending.kind === 'release' && work.isUsed === undefined",
      },
      {
        file: 'src/engine/evidence.ts',
        from: "        return { kind: 'fail', errorCode }\n      case 'store'",
        to: "        return { kind: 'release' }\n      case 'store'",
      },
    ],
    caughtBy: { seeds: 20_000 },
    says: /there is a deposit for .*, and no record/,
  },
  {
    bug: 'what a handler answers beats a call that is to be made again',
    patch: {
      file: 'src/engine/evidence.ts',
      from: '  if (unsound !== undefined) return endings[unsound.kind](unsound.errorCode)\n',
      to: "  if (unsound !== undefined && (result.kind === 'threw' || unsound.kind === 'doubt'))\n    return endings[unsound.kind](unsound.errorCode)\n",
    },
    caughtBy: { seeds: 20_000 },
    says: /was answered although a call of it is open/,
  },
  {
    bug: 'a handler is told the generation after its own',
    patch: {
      file: 'src/engine/held-work.ts',
      from: 'return this.#ground.claim.generation\n',
      to: 'return this.#ground.claim.generation + 1\n',
    },
    caughtBy: { seeds: 1_000 },
    says: /there is a \w+ for .*, which has never begun/,
  },
  {
    bug: 'what may go on is left to a person before its retention is over',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'if (record.expiresAt === undefined || now < record.expiresAt) return false\n  const goesOn',
      to: 'if (record.expiresAt === undefined) return false\n  const goesOn',
    },
    caughtBy: { case: 'a handler that may run again against a reaper that comes early, and a retry, one crash' },
    says: /was abandoned before its time/,
  },
  {
    bug: 'an effect that failed once is left to people',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'const isOver = attempt >= kind.attempts ||',
      to: 'const isOver = attempt >= 1 ||',
    },
    caughtBy: { case: 'an effect whose provider is busy for a while, and one behind it, one broken line' },
    says: /was left to people too early, as/,
  },
  {
    bug: 'an effect that is in doubt at its last attempt is left to people as one that did not happen',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'return mayRepeat ? again : doubted(errorCode)',
      to: "return mayRepeat ? again : isOver ? { kind: 'dead', errorCode } : doubted(errorCode)",
    },
    caughtBy: { case: 'an effect that is tried for the last time, and whose reply is lost' },
    says: /effect 1 was left to people, and has landed/,
  },
  {
    bug: 'an effect that is left to people is carried out all the same',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: "if (effect.state === 'ready') return when",
      to: "if (effect.state === 'ready' || effect.state === 'dead') return when",
    },
    caughtBy: { case: 'an effect that is declined against another worker, and one behind it, one crash' },
    says: /effect 1 went from dead to leased/,
  },
  {
    bug: 'of the effects of a phase the first one is written',
    patch: {
      file: 'src/engine/collected-effects.ts',
      from: 'isOver = true\n      return all\n',
      to: 'isOver = true\n      return all.slice(0, 1)\n',
    },
    caughtBy: { case: 'two calls and two effects of one request, one crash' },
    says: /was answered, and its second receipt was sent 0 times/,
  },
  {
    bug: 'what workers go on with is left to a person',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'const goesOn = operations.includes(record.operation)',
      to: 'const goesOn = operations.length < 0',
    },
    caughtBy: { case: 'the reaper against half-done work, one broken line' },
    says: /was abandoned although workers go on with it/,
  },
  {
    bug: 'an effect that ended its worker once is left to people',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'return unsettled(effect) >= (',
      to: 'return unsettled(effect) >= 1 || unsettled(effect) >= (',
    },
    caughtBy: { case: 'an effect that ends whoever carries it out, one broken line' },
    says: /was left to people too early, as poison/,
  },
]
