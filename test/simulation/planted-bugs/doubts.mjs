/**
 * Doubts about calls, and what is said of them by lookups, webhooks and people.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const doubtBugs = [
  {
    bug: 'that a provider cannot say yet is taken for “not landed”',
    patch: {
      file: 'src/engine/looking.ts',
      from: "if (said === undefined) return { kind: 'not_yet' }",
      to: "if (said === undefined) return { kind: 'not_landed' }",
    },
    caughtBy: { case: 'a call whose provider cannot say for a while what became of it, one broken line' },
    says: /a second transfer for/,
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
      file: 'src/engine/believing.ts',
      from: 'const said = await saidSince(context, call.key)\n',
      to: 'const said = (await saidSince(context, call.key)).filter(({ at }) => at >= (record.doubtedAt ?? 0))\n',
    },
    caughtBy: { case: 'a request against a webhook that tells of its call, one crash' },
    says: /a doubt about .* was left to people, although an event tells that it landed/,
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
    bug: 'an event of a provider is processed each time it comes',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: '    return await store.receive({ provider, eventId }, work)\n',
      to: "    const first = await store.receive({ provider, eventId }, work)\n    return first.kind === 'processed' ? first : await store.receive({ provider, eventId: eventId + ', again' }, work)\n",
    },
    caughtBy: { case: 'a request against a webhook that is told again at another node, one broken line' },
    says: /the event of .* was worked on 2 times/,
  },
  {
    bug: 'an event is remembered by when it came',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: 'return await store.receive({ provider, eventId }, work)',
      to: 'return await store.receive({ provider, eventId: eventId + hapax.clock.elapsed() }, work)',
    },
    caughtBy: { case: 'a request against a webhook that tells of its call, one crash' },
    says: /there is an event .* of .*, and nobody has told of it/,
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
]
