/**
 * Calls to a provider, and what they come to.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const callBugs = [
  {
    bug: 'a doubt is taken for a failure, and so runs again',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "changedRecord(idle(current, 'doubt'), {",
      to: "changedRecord(idle(current, 'fail'), {",
    },
    caughtBy: { seeds: 3_000 },
    says: /a second payout for .* was asked for blindly/,
  },
  {
    bug: 'an attempt has a downstream key of its own',
    patch: {
      file: 'src/engine/calling.ts',
      from: 'const open = { ...before, ...known }',
      to: "const open = { ...before, ...known, key: derivedKey('call', phases.ground.claim, name, phases.ground.record.attempt) }",
    },
    caughtBy: { seeds: 6_000 },
    says: /a second charge for \S+$/,
  },
  {
    bug: 'what a handler answers beats an open doubt',
    patch: {
      file: 'src/engine/evidence.ts',
      from: '  if (unsound !== undefined) return endings[unsound.kind](unsound.errorCode)\n',
      to: "  if (unsound !== undefined && result.kind === 'threw') return endings[unsound.kind](unsound.errorCode)\n",
    },
    caughtBy: { seeds: 6_000 },
    says: /was answered although its handler is in doubt/,
  },
  {
    bug: 'a handler that throws in doubt is taken for one that failed',
    patch: {
      file: 'src/engine/evidence.ts',
      from: '  if (unsound !== undefined) return endings[unsound.kind](unsound.errorCode)\n',
      to: "  if (unsound !== undefined && result.kind === 'threw') return { kind: 'fail', errorCode: unsound.errorCode }\n  if (unsound !== undefined) return endings[unsound.kind](unsound.errorCode)\n",
    },
    caughtBy: { seeds: 3_000 },
    says: /^after a day something is stuck: .* is failed_retryable \(downstream_key_forgotten\)/,
  },
  {
    bug: 'a call that was interrupted is made again, whoever its provider is',
    patch: [
      {
        file: 'src/engine/calling.ts',
        from: "  const onLeaseOver = open.honoursKeyForMs === undefined ? 'doubt' : 'resume'\n",
        to: "  const onLeaseOver = 'resume' as const\n",
      },
      {
        file: 'src/engine/calling.ts',
        from: '  if (isRemembered(open, now)) return open\n',
        to: '  if (now > 0) return open\n',
      },
    ],
    caughtBy: { seeds: 6_000 },
    says: /a second \w+ for .* was asked for blindly/,
  },
  {
    bug: 'a call whose outcome nobody knows is made again, whoever its provider is',
    patch: [
      {
        file: 'src/engine/calling.ts',
        from: "phases.spoil({ kind: isRemembered(open, phases.now()) ? 'retry' : 'doubt', errorCode })",
        to: "phases.spoil({ kind: 'retry', errorCode })",
      },
      {
        file: 'src/engine/calling.ts',
        from: '  if (isRemembered(open, now)) return open\n',
        to: '  if (now > 0) return open\n',
      },
    ],
    caughtBy: { seeds: 6_000 },
    says: /a second \w+ for .* was asked for blindly/,
  },
  {
    bug: 'the result of a call is not kept for the next attempt',
    patch: {
      file: 'src/engine/calling.ts',
      from: 'if (known !== undefined) return known.result as Called<T, R>\n',
      to: "if (known !== undefined && name === '') return known.result as Called<T, R>\n",
    },
    caughtBy: { seeds: 6_000 },
    says: /a second \w+ for .* was asked for blindly/,
  },
  {
    bug: 'a phase that has committed runs again',
    patch: {
      file: 'src/engine/phases.ts',
      from: 'if (known !== undefined) return known.result as Jsonified<T>',
      to: "if (known === undefined && name === '') return undefined as never",
    },
    caughtBy: { seeds: 6_000 },
    says: /^after a day something is stuck: .* is failed_retryable \(23505\)/,
  },
  {
    bug: 'a call is sent although the lease does not last as long as it may',
    patch: {
      file: 'src/engine/calling.ts',
      from: 'const leftMs = Math.min(open.timeoutMs, lease.heldForMs() - limits.callMarginMs)',
      to: 'const leftMs = open.timeoutMs + 0 * limits.callMarginMs',
    },
    caughtBy: {
      case: 'a call that was begun, and whose holder was stopped, against sweeper, reconciler and resumer',
    },
    says: /a second transfer/,
  },
  {
    bug: 'a call that was not sent is taken back, and with it the one before it',
    patch: {
      file: 'src/engine/calling.ts',
      from: "(meaning === 'not_sent' && before === undefined)",
      to: "meaning === 'not_sent'",
    },
    caughtBy: {
      case: 'a call that was begun twice, and whose holders were stopped or crashed, against a retry when its key is forgotten',
    },
    says: /a charge for .* was asked for again when its provider may have forgotten the key/,
  },
  {
    bug: 'the lease of a call that begins is counted from the reply',
    patch: {
      file: 'src/engine/phases.ts',
      from: 'this.#isMarking = false\n    lease.renewedAt(sentAt)',
      to: 'this.#isMarking = false\n    lease.renewedAt(Math.max(sentAt, context.clock.elapsed()))',
    },
    caughtBy: {
      case: 'a call that was begun, and whose holder was stopped, against sweeper, reconciler and resumer',
    },
    says: /a second transfer/,
  },
  {
    bug: 'a handler that says that nobody knows is not heeded',
    patch: {
      file: 'src/engine/held-work.ts',
      from: "    if (this.#doubt !== undefined) return { kind: 'doubt', errorCode: this.#doubt }\n    return this.#phases?.unsound",
      to: '    return this.#phases?.unsound',
    },
    caughtBy: {
      case: 'a handler that doubts its own work against its retry and an operator who answers for it, one crash',
    },
    says: /was answered although its handler is in doubt/,
  },
  {
    bug: 'a handler that makes its call by itself has another key on each attempt',
    patch: {
      file: 'src/engine/phases.ts',
      from: "const { context, claim, guarded, lease } = this.ground\n    const key = derivedKey('call', claim, name)",
      to: "const { context, claim, guarded, lease, record } = this.ground\n    const key = derivedKey('call', claim, name, record.attempt)",
    },
    caughtBy: { case: 'a handler that throws when its own call is made, against its retry and the sweeper, one crash' },
    says: /a second deposit/,
  },
  {
    bug: 'an operation that failed goes on ten hours later',
    patch: {
      file: 'src/engine/finishing.ts',
      from: 'const resumeAfterMs = backoffMs(backoffs.resuming, attempt, context.chance)',
      to: 'const resumeAfterMs = 36_000_000 + backoffMs(backoffs.resuming, attempt, context.chance)',
    },
    caughtBy: { seeds: 6_000 },
    says: /^something is stuck: .* is failed_retryable/,
  },
  {
    bug: 'what nobody comes back for stays as it is, and nobody is told',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'const goesOn = operations.includes(record.operation)',
      to: 'const goesOn = operations.length >= 0',
    },
    caughtBy: { case: 'a handler that may run again, and whose client never comes back, one crash' },
    says: /past its retention, and nobody is told/,
  },
  {
    bug: 'a worker ends for good when a pass fails',
    patch: {
      file: 'src/workers/service.ts',
      from: 'return pauseAfter(error)',
      to: 'void pauseAfter(error); return undefined',
    },
    caughtBy: { case: 'a call whose reply is lost against a reconciler that works by itself, two broken lines' },
    says: /stuck/,
  },
  {
    bug: 'a retry that goes on leaves a crash in doubt, although no call is open',
    patch: {
      file: 'src/engine/next-record.ts',
      from: 'current.progress === undefined ? reservation.onLeaseOver : current.onLeaseOver',
      to: 'reservation.onLeaseOver',
    },
    caughtBy: { suite: 'a retry of what failed resumes at the recovery point, with what the phases left' },
  },
  {
    bug: 'a call is made again until the moment in which its key is forgotten',
    patch: {
      file: 'src/engine/call-plan.ts',
      from: 'now - begunAt < honoursKeyForMs - marginMs',
      to: 'now - begunAt < honoursKeyForMs + 0 * marginMs',
    },
    caughtBy: {
      case: 'a retry that comes when the key of its call is nearly forgotten, one crash, one request that is slow',
    },
    says: /was asked for again when its provider may have forgotten the key/,
  },
]
