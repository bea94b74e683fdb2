/**
 * Calls to a provider, doubts about them, and what is said of them.
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
    bug: '“not landed” is believed at once',
    patch: {
      file: 'src/engine/settling.ts',
      from: 'doubtedAt + call.timeoutMs + call.readLagMs',
      to: 'doubtedAt',
    },
    caughtBy: { case: 'a call whose reply is lost against the reconciler' },
    says: /a second transfer/,
  },
  {
    bug: '“not landed” is believed by the clock of the database alone',
    patch: {
      file: 'src/engine/reconciling.ts',
      from: 'Math.min(now, context.clock.now())',
      to: 'now',
    },
    caughtBy: {
      case: 'a call that lands after its line broke against the reconciler, where one clock jumps',
    },
    says: /a second transfer/,
  },
  {
    bug: '“not landed” is believed by the clock of the process alone',
    patch: {
      file: 'src/engine/reconciling.ts',
      from: 'Math.min(now, context.clock.now())',
      to: 'context.clock.now()',
    },
    caughtBy: { case: 'a call that lands after its line broke against the reconciler, where one clock jumps' },
    says: /a second transfer/,
  },
  {
    bug: '“not landed” is believed of whoever says so, however early',
    patch: {
      file: 'src/engine/believing.ts',
      from: 'Math.min(at, context.clock.now()) >= from',
      to: 'at > 0 && from > 0',
    },
    caughtBy: { case: 'a call that lands after its line broke against an operator who looks too early, and a retry' },
    says: /a second transfer for \S+$/,
  },
  {
    bug: 'the reconciler looks at nothing',
    patch: {
      file: 'src/workers/reconciler.ts',
      from: 'await host.chores.reconcile(batch, asking, signal)',
      to: '[] as readonly Reconciled[]',
    },
    caughtBy: { seeds: 3_000 },
    says: /^something is stuck: .* is unknown/,
  },
  {
    bug: 'what a webhook says is dropped',
    patch: {
      file: 'src/inbox/testimonies.ts',
      from: 'said.push(testimonyOf(',
      to: 'void (testimonyOf(',
    },
    caughtBy: { case: 'a request against a webhook that tells of its call, one crash' },
    says: /the event of .* is on record, and what it says is not/,
  },
  {
    bug: 'evidence that comes before the doubt is dropped',
    patch: {
      file: 'src/engine/said.ts',
      from: 'return testimonies.filter(({ at }) => at >= begunAt)',
      to: 'return testimonies.filter(({ at }) => at < begunAt)',
    },
    caughtBy: { case: 'a request against an operator, one crash' },
    says: /^something is stuck: .* is unknown/,
  },
  {
    bug: 'evidence about one attempt settles a later one',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'current.generation === generation && (fence === undefined || current.fence === fence)',
      to: 'current.generation === generation',
    },
    caughtBy: {
      suite: 'what was found out about one attempt neither settles nor postpones the doubt about a later one',
    },
  },
  {
    bug: 'the result of a call is not kept for the next attempt',
    patch: {
      file: 'src/engine/phases.ts',
      from: 'if (known !== undefined) return known.result as Jsonified<T>',
      to: "if (known === undefined && name === '') return undefined as never",
    },
    caughtBy: { seeds: 6_000 },
    says: /^after a day something is stuck: .* is failed_retryable \(23505\)/,
  },
  {
    bug: 'an event of a provider is processed each time it comes',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: 'return await store.receive({ provider, eventId }, work)',
      to: 'return await store.receive({ provider: provider + hapax.clock.elapsed(), eventId }, work)',
    },
    caughtBy: { seeds: 20_000 },
    says: /the event of .* is on record, and what it says is not/,
  },
  {
    bug: 'what is to be done for an event of a provider is done twice',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: 'await handle({ event, eventId, body, tx, evidence })',
      to: 'for (const time of [1, 2]) if (time > 0) await handle({ event, eventId, body, tx, evidence })',
    },
    caughtBy: { case: 'a request and its duplicate against a webhook that tells of its call' },
    says: /the event of .* was worked on 2 times/,
  },
  {
    bug: 'a doubt ends without evidence',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'evidence: [...current.evidence, kept(current, settlement, now)],',
      to: 'evidence: [...current.evidence, kept(current, settlement, now)].slice(0, -1),',
    },
    caughtBy: { seeds: 6_000 },
    says: /the doubt about .* ended without evidence/,
  },
  {
    bug: 'who looked at a doubt puts off what evidence has settled since',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (plan.state !== undefined && plan.state !== current.state) return undefined\n',
      to: '',
    },
    caughtBy: { suite: 'who looked at a doubt does not put off what evidence has settled since' },
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
    says: /a second charge/,
  },
  {
    bug: 'evidence about a doubt ends a later one',
    patch: { file: 'src/engine/settling.ts', from: '    fence: record.fence,\n', to: '    fence: undefined,\n' },
    caughtBy: {
      case: 'a reconciler that was stopped when it had asked against an operator and a retry that is in doubt again',
    },
    says: /a second transfer/,
  },
  {
    bug: 'who looked at a doubt puts off what was said about it since',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'if (plan.dueAt !== undefined && plan.dueAt !== current.reconcileAfter) return undefined',
      to: '',
    },
    caughtBy: {
      case: 'a reconciler that was stopped when it had read what was said against a webhook that nobody acts on',
    },
    says: /a doubt about .* was left to people, although an event tells that it landed/,
  },
  {
    bug: 'a doubt that was swept is first looked at ten hours later',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'const said = { errorCode: leaseOver, reconcileAfter: now,',
      to: 'const said = { errorCode: leaseOver, reconcileAfter: now + 36_000_000,',
    },
    caughtBy: { seeds: 3_000 },
    says: /^something is stuck: .* is unknown .*, for \d+ s/,
  },
  {
    bug: 'a doubt is looked at when it is ten hours overdue',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (current.state !== 'unknown' || !isDue(current, now)) return undefined",
      to: "if (current.state !== 'unknown' || !isDue(current, now - 36_000_000)) return undefined",
    },
    caughtBy: { seeds: 3_000 },
    says: /^something is stuck: .* is unknown .*, for \d+ s/,
  },
  {
    bug: 'an event is acknowledged although the store has failed',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: 'return await received(checked)\n    } catch (error) {\n      return failed(error, options)',
      to: 'return await received(checked)\n    } catch {\n      return processed',
    },
    caughtBy: { seeds: 3_000 },
    says: /the event of .* was acknowledged, and is not on record/,
  },
  {
    bug: 'what a provider tells of a doubt does not count, and is left to people',
    patch: {
      file: 'src/engine/believing.ts',
      from: "const landed = said.filter(({ says }) => says === 'landed')",
      to: "const landed = said.filter(({ says, by }) => says === 'landed' && by.startsWith('operator'))",
    },
    caughtBy: { case: 'a request against a webhook that tells of its call, one crash' },
    says: /a doubt about .* was left to people, although an event tells that it landed/,
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
    bug: '“not landed” is believed before the lookup shows what has landed',
    patch: {
      file: 'src/engine/settling.ts',
      from: 'doubtedAt + call.timeoutMs + call.readLagMs',
      to: 'doubtedAt + call.timeoutMs',
    },
    caughtBy: {
      case: 'a call that arrives at the last moment, which its lookup does not show yet, against the reconciler and a retry',
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
    bug: 'what a call gave too late is dropped',
    patch: {
      file: 'src/engine/late-results.ts',
      from: 'if (value !== undefined) keepResult(ground, open, value)',
      to: 'void value',
    },
    caughtBy: { case: 'a call whose reply is late, and about which nobody can be asked, against its reconciler' },
    says: /left to people, although node \d has heard that it landed/,
  },
  {
    bug: 'a call is made again that was told to have landed',
    patch: {
      file: 'src/engine/calling.ts',
      from: 'record.attempt > 1 ?',
      to: 'record.attempt > 100 ?',
    },
    caughtBy: {
      case: 'a call whose provider denies for a while what he tells of later, against its reconciler and a retry',
    },
    says: /asked for when it was on record that it has landed/,
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
]
