/**
 * What a careless author might do to the source, one edit each, and what must notice. A patch that no longer applies fails the
 * run, as one that nobody catches does.
 *
 * @type {readonly import('../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const bugs = [
  {
    bug: 'a write needs no fence',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'return current.fence === claim.fence && current.claimId === claim.claimId',
      to: 'return current.claimId === claim.claimId',
    },
    caughtBy: { suite: 'the right claim id with the wrong fence can change nothing' },
  },
  {
    bug: 'a write needs no claim id',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'current.fence === claim.fence && current.claimId === claim.claimId &&',
      to: 'current.fence === claim.fence &&',
    },
    caughtBy: { suite: 'the right fence with the wrong claim id can change nothing' },
  },
  {
    bug: 'a write does not look at the generation',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'current.claimId === claim.claimId && current.generation === claim.generation',
      to: 'current.claimId === claim.claimId',
    },
    caughtBy: { suite: 'the right claim id and fence in the wrong generation can change nothing' },
  },
  {
    bug: 'a record is looked at first, and then written whatever it is by then',
    patch: {
      file: 'src/stores/postgres/steps.ts',
      from: "if (next === 'deleted' ? await records.remove(found) : await records.write(found, next, call)) return answer",
      to: "if (next === 'deleted') await records.remove(found)\n      else await records.write(found, next, call)\n      return answer",
    },
    caughtBy: { case: 'a late retry against the reaper that buries its key, one crash' },
    says: /second payout/,
  },
  {
    bug: 'a doubt is taken for a failure, and so runs again',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "changedRecord(idle(current, 'doubt'), {",
      to: "changedRecord(idle(current, 'fail'), {",
    },
    caughtBy: { seeds: 3_000 },
    says: /asked for blindly|stuck: .* is failed_retryable/,
  },
  {
    bug: 'a lease is over before its time',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'const leaseLeftMs = (current.leaseUntil ?? 0) - now',
      to: 'const leaseLeftMs = 0',
    },
    caughtBy: { seeds: 3_000 },
    says: /taken from a holder that lives/,
  },
  {
    bug: 'the sweeper does not look at the lease, and so not at its renewal',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now",
      to: "record.onLeaseOver === 'doubt'",
    },
    caughtBy: { seeds: 3_000 },
    says: /was put in doubt while its holder lives/,
  },
  {
    bug: 'the sweeper looks at when a lease began, and not at its renewal',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now",
      to: "record.onLeaseOver === 'doubt' && record.lastRunAt + 30_000 <= now",
    },
    caughtBy: { case: 'a slow holder that lives, and has renewed its lease, against the sweeper and a retry' },
    says: /was put in doubt while its holder lives/,
  },
  {
    bug: 'what may not run again runs again after a crash',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (current.onLeaseOver === 'resume') return taken",
      to: "if (current.onLeaseOver !== 'never') return taken",
    },
    caughtBy: { seeds: 3_000 },
    says: /taken over although|second/,
  },
  {
    bug: 'a different request gets the answer of the first',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (comparison !== undefined) return { verdict: comparison }\n',
      to: '',
    },
    caughtBy: { seeds: 3_000 },
    says: /another request/,
  },
  {
    bug: 'a cached answer is given to a different request',
    patch: {
      file: 'src/engine/executing.ts',
      from: "  if (comparison === undefined) return replayed(context, guarded, kept.answer, kept, 'cache')\n",
      to: "  if (comparison?.kind !== 'incomparable') return replayed(context, guarded, kept.answer, kept, 'cache')\n",
    },
    caughtBy: { seeds: 3_000 },
    says: /another request/,
  },
  {
    bug: 'a tenant is not part of the name of what is cached',
    patch: {
      file: 'src/engine/recent-replays.ts',
      from: 'function addressOf({ scope, key }: RecordName): string {\n',
      to: "function addressOf({ key }: RecordName): string {\n  const scope = 'all'\n",
    },
    caughtBy: { case: 'two tenants with one key at one node, one crash' },
    says: /was sent an answer of tenant/,
  },
  {
    bug: 'a tenant is not part of the name of what is waited for',
    patch: { file: 'src/engine/executing.ts', from: '{guarded.scope}\\n$', to: '' },
    caughtBy: { case: 'two tenants with one key, and a duplicate that waits for its answer, at one node, one crash' },
    says: /was sent an answer of tenant/,
  },
  {
    bug: 'a cached answer outlives its record',
    patch: {
      file: 'src/engine/recent-replays.ts',
      from: 'return onTheWall < 0 ? 0 : forMs - Math.max(clock.elapsed() - keptAt, onTheWall)',
      to: 'return onTheWall < 0 ? 0 : forMs + keptAt',
    },
    caughtBy: { seeds: 20_000 },
    says: /answered before that was durable|something else than what is stored/,
  },
  {
    bug: 'an answer is cached before it is durable',
    patch: {
      file: 'src/engine/finishing.ts',
      from: '  const completed = context.store.complete(claim, { answer, answerVersion: guarded.policy.answerVersion })\n',
      to: '  cache(run, answer, { askedAt: asked.askedAt, expiresAt: undefined })\n  const completed = context.store.complete(claim, { answer, answerVersion: guarded.policy.answerVersion })\n',
    },
    caughtBy: { seeds: 6_000 },
    says: /answered before that was durable/,
  },
  {
    bug: 'whether a request is the same is asked after whether it is under way',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (comparison !== undefined) return { verdict: comparison }\n  if (isOwn',
      to: "  if (comparison !== undefined && current.state !== 'in_progress') return { verdict: comparison }\n  if (isOwn",
    },
    caughtBy: { suite: 'another request under a key that is in progress is a mismatch, and changes nothing' },
  },
  {
    bug: 'a key that is used anew has its old generation',
    patch: {
      file: 'src/engine/next-record.ts',
      from: 'generation: last.generation + 1',
      to: 'generation: Math.max(1, last.generation)',
    },
    caughtBy: { suite: 'a key used anew is the next generation of the same record, with nothing left of the last' },
  },
  {
    bug: 'the fence stays when a key is claimed anew',
    patch: {
      file: 'src/engine/next-record.ts',
      from: "    state: stateAfter(current.state, 'resume'),\n    fence: current.fence + 1,",
      to: "    state: stateAfter(current.state, 'resume'),\n    fence: current.fence,",
    },
    caughtBy: { seeds: 6_000 },
    says: /resumed under its old fence/,
  },
  {
    bug: 'an attempt has a downstream key of its own',
    patch: {
      file: 'src/engine/calling.ts',
      from: 'const open = { ...before, ...known }',
      to: "const open = { ...before, ...known, key: derivedKey('call', phases.ground.claim, name, phases.ground.record.attempt) }",
    },
    caughtBy: { seeds: 6_000 },
    says: /second/,
  },
  {
    bug: 'the downstream key does not tell the tenant',
    patch: {
      file: 'src/engine/downstream-key.ts',
      from: 'const parts = [domains[derivation], scope, key,',
      to: "const parts = [domains[derivation], 'scope', key,",
    },
    caughtBy: { case: 'calls of two tenants with one key' },
    says: /was asked for under the downstream key of/,
  },
  {
    bug: 'an answer is sent before it is stored',
    patch: {
      file: 'src/engine/finishing.ts',
      from: '  if (isPromise(completed)) return completed.then((completed) => told(run, asked, completed, result))\n',
      to: '  if (isPromise(completed)) return told(run, asked, { expiresAt: undefined }, result)\n',
    },
    caughtBy: { seeds: 1_000 },
    says: /answered before that was durable/,
  },
  {
    bug: 'what a handler answers beats an open doubt',
    patch: {
      file: 'src/engine/evidence.ts',
      from: '  if (unsound !== undefined) return endings[unsound.kind](unsound.errorCode)\n',
      to: "  if (unsound !== undefined && result.kind === 'threw') return endings[unsound.kind](unsound.errorCode)\n",
    },
    caughtBy: { seeds: 6_000 },
    says: /was answered although a call of it is open/,
  },
  {
    bug: 'a handler that throws in doubt is taken for one that failed',
    patch: {
      file: 'src/engine/evidence.ts',
      from: '  if (unsound !== undefined) return endings[unsound.kind](unsound.errorCode)\n',
      to: "  if (unsound !== undefined && result.kind === 'threw') return { kind: 'fail', errorCode: unsound.errorCode }\n  if (unsound !== undefined) return endings[unsound.kind](unsound.errorCode)\n",
    },
    caughtBy: { seeds: 3_000 },
    says: /stuck: .* is failed_retryable \(downstream_key_forgotten\)/,
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
    says: /second/,
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
    says: /second/,
  },
  {
    bug: '“not landed” is believed at once',
    patch: {
      file: 'src/engine/settling.ts',
      from: 'doubtedAt + call.timeoutMs + call.readLagMs',
      to: 'doubtedAt',
    },
    caughtBy: { case: 'a call whose reply is lost against the reconciler' },
    says: /second transfer/,
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
    says: /second transfer/,
  },
  {
    bug: '“not landed” is believed by the clock of the process alone',
    patch: {
      file: 'src/engine/reconciling.ts',
      from: 'Math.min(now, context.clock.now())',
      to: 'context.clock.now()',
    },
    caughtBy: { case: 'a call that lands after its line broke against the reconciler, where one clock jumps' },
    says: /second transfer/,
  },
  {
    bug: '“not landed” is believed of whoever says so, however early',
    patch: {
      file: 'src/engine/believing.ts',
      from: 'Math.min(at, context.clock.now()) >= from',
      to: 'at > 0 && from > 0',
    },
    caughtBy: { case: 'a call that lands after its line broke against an operator who looks too early, and a retry' },
    says: /second (letter|transfer)/,
  },
  {
    bug: '“not landed” about an effect is believed of whoever says so, however early',
    patch: {
      file: 'src/effects/evidence.ts',
      from: 'Math.min(at, clock.now()) >= from',
      to: 'at > 0 && from > 0',
    },
    caughtBy: { seeds: 40_000 },
    says: /second shipment/,
  },
  {
    bug: 'the reconciler looks at nothing',
    patch: {
      file: 'src/workers/reconciler.ts',
      from: 'await host.chores.reconcile(batch, asking, signal)',
      to: '[] as readonly Reconciled[]',
    },
    caughtBy: { seeds: 3_000 },
    says: /stuck: .* is unknown/,
  },
  {
    bug: 'what a webhook says is dropped',
    patch: {
      file: 'src/inbox/testimonies.ts',
      from: 'said.push(testimonyOf(',
      to: 'void (testimonyOf(',
    },
    caughtBy: { case: 'a request against a webhook that tells of its call, one crash' },
    says: /is on record, and what it says is not/,
  },
  {
    bug: 'a replay has none of its headers',
    patch: {
      file: 'src/engine/replay.ts',
      from: "if (answer.kind !== 'kept' || upgradeAnswer === undefined) return answer",
      to: "if (answer.kind !== 'kept' || upgradeAnswer === undefined) return { ...answer, headers: [] } as StoredAnswer",
    },
    caughtBy: { seeds: 1_000 },
    says: /something else than what is stored/,
  },
  {
    bug: 'evidence that comes before the doubt is dropped',
    patch: {
      file: 'src/engine/said.ts',
      from: 'return testimonies.filter(({ at }) => at >= begunAt)',
      to: 'return testimonies.filter(({ at }) => at < begunAt)',
    },
    caughtBy: { case: 'a request against an operator, one crash' },
    says: /stuck: .* is unknown/,
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
    bug: 'the reaper does not look at effects',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'now < record.expiresAt || record.hasEffects) return false',
      to: 'now < record.expiresAt) return false',
    },
    caughtBy: { case: 'the reaper against a record whose effect is open, one crash' },
    says: /expired although it has effects to carry out/,
  },
  {
    bug: 'the reaper buries what is under way',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (!isExpired(current, now)) return undefined\n  if (nextState',
      to: "  if (current.state === 'in_progress') return changedRecord(current, { state: 'expired', expiresAt: now })\n  if (!isExpired(current, now)) return undefined\n  if (nextState",
    },
    caughtBy: { seeds: 3_000 },
    says: /expired while it was under way/,
  },
  {
    bug: 'whoever has taken a key says that it is under way',
    patch: {
      file: 'src/engine/executing.ts',
      from: 'return runClaimed(context, guarded, verdict, askedAt)',
      to: "return refusal(new HapaxError('idempotency_key_in_progress'))",
    },
    caughtBy: { case: 'two requests, one crash, one ambiguous commit' },
    says: /took its key, did nothing/,
  },
  {
    bug: 'half-done work expires',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "return nextState(record.state, 'bury') !== undefined && (record.answer !== undefined || nothingCommitted(record))",
      to: "return nextState(record.state, 'bury') !== undefined",
    },
    caughtBy: { case: 'the reaper against half-done work, one broken line' },
    says: /expired half-done/,
  },
  {
    bug: 'an effect is leased by two workers',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: "return effect.state === 'leased' && effect.onLeaseOver === 'resume' && isLeaseOver(effect, now)",
      to: "return effect.state === 'leased' && effect.onLeaseOver === 'resume'",
    },
    caughtBy: { suite: 'workers that claim at once never get the same effect, and leave none' },
  },
  {
    bug: 'the call of an effect is not marked as begun',
    patch: {
      file: 'src/effects/carrying.ts',
      from: 'const isBegun = await store.begin(held.claim, leaseMs).catch(codeOf)',
      to: 'const isBegun = await store.renew([held.claim], leaseMs).then(([isHeld]) => isHeld ?? false, codeOf)',
    },
    caughtBy: { seeds: 20_000 },
    says: /second shipment/,
  },
  {
    bug: 'an effect in doubt is tried again',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'const mayRepeat = !isOver && !isForgotten(kind, age.sinceFirstStartedMs + dueInMs)',
      to: 'const mayRepeat = !isOver',
    },
    caughtBy: { seeds: 20_000 },
    says: /second shipment/,
  },
  {
    bug: 'what a provider says of an effect that landed is dropped',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: '  return changedEffect(ready, { providerId: evidence.providerId, result: evidence.result })\n',
      to: '  return ready\n',
    },
    caughtBy: { suite: 'a doubt that landed goes to the next worker with its result' },
  },
  {
    bug: '“not landed” about an effect is believed at once',
    patch: {
      file: 'src/effects/evidence.ts',
      from: 'return doubtedAt + kind.timeoutMs + kind.readLagMs',
      to: 'return doubtedAt',
    },
    caughtBy: { case: 'an effect whose reply is lost against its reconciler' },
    says: /second shipment/,
  },
  {
    bug: 'a stale fence settles an effect',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: "return (current?.state === 'leased' || current?.state === 'unknown') && current.fence === fence",
      to: "return (current?.state === 'leased' || current?.state === 'unknown') && fence > 0",
    },
    caughtBy: { suite: 'whoever lost the lease of an effect can change nothing of it' },
  },
  {
    bug: 'the result of a call is not kept for the next attempt',
    patch: {
      file: 'src/engine/phases.ts',
      from: 'if (known !== undefined) return known.result as Jsonified<T>',
      to: "if (known === undefined && name === '') return undefined as never",
    },
    caughtBy: { seeds: 6_000 },
    says: /stuck: .* is failed_retryable \(23505\)/,
  },
  {
    bug: 'a reservation whose reply was lost is not recognised',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "return current.state === 'in_progress' && current.claimId === reservation.claimId",
      to: "return current.state === 'in_progress' && reservation.claimId === ''",
    },
    caughtBy: { suite: 'a reservation whose reply was lost is recognised by its claim id, with the same fence' },
  },
  {
    bug: 'an event of a provider is processed each time it comes',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: 'return await store.receive({ provider, eventId }, work)',
      to: 'return await store.receive({ provider: provider + hapax.clock.elapsed(), eventId }, work)',
    },
    caughtBy: { seeds: 20_000 },
    says: /was worked on 2 times/,
  },
  {
    bug: 'two tenants share the names of their records',
    patch: {
      file: 'src/engine/scope.ts',
      from: "let text = escaped(given, 'tenant')",
      to: "let text = escaped(given.tenant === 'globex' ? { tenant: 'acme' } : given, 'tenant')",
    },
    caughtBy: { case: 'two tenants with one key at one node, one crash' },
    says: /was sent an answer of tenant/,
  },
  {
    bug: 'a doubt ends without evidence',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'evidence: [...current.evidence, kept(current, settlement, now)],',
      to: 'evidence: [...current.evidence, kept(current, settlement, now)].slice(0, -1),',
    },
    caughtBy: { seeds: 6_000 },
    says: /without evidence/,
  },
  {
    bug: 'a request that does not fit renews the lease of the one that does',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (comparison !== undefined) return { verdict: comparison }\n',
      to: '  if (comparison !== undefined) return { verdict: comparison, next: leased(current, reservation.leaseMs, now) }\n',
    },
    caughtBy: { case: 'a request and another one under its key, one crash' },
    says: /refused with idempotency_key_reused_with_different_payload, and changed/,
  },
  {
    bug: 'whoever meets a request that is under way renews its lease',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (leaseLeftMs > 0) return { verdict: { kind: 'in_progress', leaseLeftMs } }",
      to: "if (leaseLeftMs > 0) return { verdict: { kind: 'in_progress', leaseLeftMs }, next: leased(current, reservation.leaseMs, now) }",
    },
    caughtBy: { seeds: 3_000 },
    says: /refused with idempotency_key_in_progress, and changed/,
  },
  {
    bug: 'whoever has lost its claim writes all the same',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'return current.fence === claim.fence && current.claimId === claim.claimId && current.generation === claim.generation',
      to: 'return current.generation === claim.generation',
    },
    caughtBy: { seeds: 6_000 },
    says: /a stale claim \(1, now 2\) changed/,
  },
  {
    bug: 'a worker that has lost an effect writes all the same',
    patch: [
      {
        file: 'src/engine/effect-transitions.ts',
        from: "return current?.state === 'leased' && current.fence === fence",
        to: "return current?.state === 'leased' && fence > 0",
      },
      {
        file: 'src/engine/effect-transitions.ts',
        from: "return (current?.state === 'leased' || current?.state === 'unknown') && current.fence === fence",
        to: "return (current?.state === 'leased' || current?.state === 'unknown') && fence > 0",
      },
    ],
    caughtBy: { case: 'the effect worker against one that was stopped and goes on' },
    says: /a stale claim \(\d\) changed effect/,
  },
  {
    bug: 'a replay says 200, whatever the answer was',
    patch: {
      file: 'src/engine/replay.ts',
      from: 'answer: upgraded(policy, answer, record),',
      to: 'answer: { ...upgraded(policy, answer, record), status: 200 },',
    },
    caughtBy: { seeds: 1_000 },
    says: /sent something else than what is stored/,
  },
  {
    bug: 'an answer expires before its time',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'if (record.expiresAt === undefined || now < record.expiresAt || record.hasEffects) return false',
      to: 'if (record.expiresAt === undefined || now < record.createdAt || record.hasEffects) return false',
    },
    caughtBy: { seeds: 1_000 },
    says: /expired before its time/,
  },
  {
    bug: 'a record that was just completed is said to be under way',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "      invariant(current.answer, 'a completed record has an answer')\n",
      to: "      invariant(current.answer, 'a completed record has an answer')\n      if (now - (current.completedAt ?? 0) < 1_500) return { verdict: { kind: 'in_progress', leaseLeftMs: 1_000 } }\n",
    },
    caughtBy: { seeds: 3_000 },
    says: /had an answer, and then a 409/,
  },
  {
    bug: 'an effect forgets the order that it asked for',
    patch: {
      file: 'src/engine/collected-effects.ts',
      from: 'order: order ?? orderOf(known, payload),',
      to: "order: orderOf(known, payload) === '' ? order : undefined,",
    },
    caughtBy: { seeds: 20_000 },
    says: /shipped before an earlier one/,
  },
  {
    bug: 'nobody goes on with what a crash has interrupted',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (record.state === 'in_progress') return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) <= now",
      to: "if (record.state === 'in_progress') return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) < 0",
    },
    caughtBy: { seeds: 3_000 },
    says: /something is stuck/,
  },
  {
    bug: 'a tombstone is deleted as soon as it is made',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "nextState(current.state, 'delete') === 'none' && now >= tombstoneUntil ? 'deleted'",
      to: "nextState(current.state, 'delete') === 'none' && tombstoneUntil > 0 ? 'deleted'",
    },
    caughtBy: { seeds: 20_000 },
    says: /deleted too early/,
  },
  {
    bug: 'all requests without a key share one',
    patch: {
      file: 'src/http/door.ts',
      from: 'keyOf(this.#engine.chance.id())',
      to: 'keyOf((this.#engine.minted ??= this.#engine.chance.id()))',
    },
    caughtBy: { case: 'two requests without a key at one node, one crash' },
    says: /met a request/,
  },
  {
    bug: 'of two keys the first is taken',
    patch: {
      file: 'src/http/header.ts',
      from: "lines !== 'string' && lines !== undefined && lines.length > 1",
      to: "lines !== 'string' && lines !== undefined && lines.length > 2",
    },
    caughtBy: { case: 'a request, and two at its node whose keys are misspelt, one crash' },
    says: /not refused with idempotency_key_malformed/,
  },
  {
    bug: 'a key that is no key is taken for none',
    patch: {
      file: 'src/http/door.ts',
      from: "lines.length === 0 && key === 'optional' ? undefined",
      to: "(lines.length === 0 || /[^!-~]/.test(lines[0] ?? '')) && key === 'optional' ? undefined",
    },
    caughtBy: { case: 'a request, and two at its node whose keys are misspelt, one crash' },
    says: /refused with idempotency_key_malformed, and changed/,
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
    bug: 'two requests of one batch are both told that their key was new',
    patch: {
      file: 'src/stores/postgres/batching-table.ts',
      from: "{ kind: 'known', found: inserted.found && copied(inserted.found) } : undefined",
      to: "{ kind: 'known', found: inserted.found && copied(inserted.found) } : inserted",
    },
    caughtBy: { case: 'three requests with two keys in group commits, one crash' },
    says: /asked for blindly/,
  },
  {
    bug: 'what is declined keeps its rows',
    patch: {
      file: 'src/engine/single.ts',
      from: "answer.status < 400 ? ('keep' as const) : ('undo' as const)",
      to: "'keep' as 'keep' | 'undo'",
    },
    caughtBy: {
      case: 'two requests as one transaction each, which is declined when it has written, one crash, one ambiguous commit',
    },
    says: /there is a shipment for .*answered with 402/,
  },
  {
    bug: 'a record that was to be created by a COMMIT without a reply is taken for created',
    patch: {
      file: 'src/stores/postgres/single/single.ts',
      from: "return last?.record.state === 'completed' ? { value: committed(value, last.record) } : undefined",
      to: 'return { value: committed(value, last?.record ?? { expiresAt: undefined }) }',
    },
    caughtBy: {
      case: 'two requests as one transaction each, which is declined when it has written, one crash, one ambiguous commit',
    },
    says: /answered before that was durable/,
  },
  {
    bug: 'a COMMIT without a reply is taken for one that has happened',
    patch: {
      file: 'src/stores/postgres/phase.ts',
      from: 'return (await from.lastWritten(claim))?.committedIn === committedIn',
      to: 'await from.lastWritten(claim)\n  return committedIn.length > 0',
    },
    caughtBy: { case: 'two requests as one transaction each, one crash, one ambiguous commit' },
    says: /answered before that was durable/,
  },
  {
    bug: 'the type of an answer is not kept',
    patch: {
      file: 'src/http/kept-headers.ts',
      from: "  'content-type',\n  'content-encoding',",
      to: "  'content-encoding',",
    },
    caughtBy: { case: 'two requests, one crash, one ambiguous commit' },
    says: /something else than what is stored/,
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
    bug: 'an effect that is claimed again keeps its fence',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: '    fence: current.fence + 1,',
      to: '    fence: Math.max(1, current.fence),',
    },
    caughtBy: { case: 'the effect worker, whose provider knows no keys, against one that was stopped and goes on' },
    says: /claimed again under its old fence/,
  },
  {
    bug: 'an effect whose key its provider has forgotten is sent again',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'if (mayBeKnown && isForgotten(kind, age.sinceFirstStartedMs))',
      to: 'if (mayBeKnown && age.sinceFirstStartedMs < 0)',
    },
    caughtBy: { case: 'the effect worker against one that comes when the key is forgotten, one crash' },
    says: /a second receipt/,
  },
  {
    bug: 'who was slow may not end the doubt about himself',
    patch: {
      file: 'src/engine/state.ts',
      from: "    from: 'unknown',\n    on: 'complete',\n    to: 'completed',",
      to: "    from: 'expired',\n    on: 'complete',\n    to: 'completed',",
    },
    caughtBy: { case: 'a holder that was stopped and goes on against the sweeper and a retry' },
    says: /the last holder of acme\/k1 was not let answer it/,
  },
  {
    bug: 'a renewal leaves the lease as it was',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (!holds(current, claim, 'renew')) return undefined\n  return leased(current, leaseMs, now)",
      to: "if (!holds(current, claim, 'renew')) return undefined\n  return leased(current, (current.leaseUntil ?? 0) - now + 0 * leaseMs, now)",
    },
    caughtBy: { case: 'the effect worker against one that was stopped and goes on' },
    says: /acme\/k1 is leased for -?\d+ ms only/,
  },
  {
    bug: 'a reservation that nobody heard of is not given back',
    patch: {
      file: 'src/engine/abandoned.ts',
      from: 'if (record?.claimId === unheard.claimId) await store.release(record)',
      to: 'void record',
    },
    caughtBy: { case: 'a reservation that nobody hears of against the sweeper, two lines broken' },
    says: /in doubt, although nobody was asked/,
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
    says: /was left to people, although an event tells that it landed/,
  },
  {
    bug: 'an answer is kept for a minute and a half, whatever was promised',
    patch: {
      file: 'src/engine/next-record.ts',
      from: 'return retentionMs === undefined ? undefined : now + retentionMs',
      to: 'return retentionMs === undefined ? undefined : now + retentionMs / 1_000',
    },
    caughtBy: { seeds: 1_000 },
    says: /is kept for 86400 ms only/,
  },
  {
    bug: 'an answer is kept from when its key was taken, and not from when it was given',
    patch: {
      file: 'src/engine/next-record.ts',
      from: '    completedAt: now,\n    expiresAt: expiryOf(current, now),',
      to: '    completedAt: now,\n    expiresAt: current.expiresAt,',
    },
    caughtBy: { seeds: 1_000 },
    says: /is kept for \d+ ms only/,
  },
  {
    bug: 'a doubt that is settled is kept from when its key was taken',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'const going = changedRecord(retained(idle(settled, on), now), {',
      to: 'const going = changedRecord(idle(settled, on), {',
    },
    caughtBy: { seeds: 20_000 },
    says: /expired before its time/,
  },
  {
    bug: 'a tombstone stands for less than an hour',
    patch: {
      file: 'src/engine/next-record.ts',
      from: 'operation, retentionMs, tombstoneMs, onLeaseOver } = reservation\n',
      to: 'operation, retentionMs, onLeaseOver } = reservation\n  const tombstoneMs = reservation.tombstoneMs / 1_000\n',
    },
    caughtBy: { seeds: 20_000 },
    says: /deleted too early/,
  },
  {
    bug: 'who takes a key has it for a tenth of its lease',
    patch: {
      file: 'src/engine/next-record.ts',
      from: '    attempt: 1,\n    leaseUntil: now + reservation.leaseMs,',
      to: '    attempt: 1,\n    leaseUntil: now + reservation.leaseMs / 10,',
    },
    caughtBy: { seeds: 1_000 },
    says: /is leased for 3000 ms only/,
  },
  {
    bug: 'who says how far he is loses most of his lease',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'leaseUntil: now + step.leaseMs,',
      to: 'leaseUntil: now + step.leaseMs / 10,',
    },
    caughtBy: { seeds: 1_000 },
    says: /is leased for 3000 ms only/,
  },
  {
    bug: 'who claims an effect has it for a hundredth of its lease',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: '    leaseUntil: now + leaseMs,\n',
      to: '    leaseUntil: now + leaseMs / 100,\n',
    },
    caughtBy: { seeds: 1_000 },
    says: /effect \d+ is leased for 300 ms only/,
  },
  {
    bug: 'the call of an effect begins with what is left of its lease',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: "{ leaseUntil: now + leaseMs, onLeaseOver: 'doubt' }",
      to: "{ onLeaseOver: leaseMs > 0 && now > 0 ? 'doubt' : 'resume' }",
    },
    caughtBy: { seeds: 20_000 },
    says: /effect \d+ is leased for -?\d+ ms only/,
  },
  {
    bug: 'a lease that is over is found out ten hours later',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now",
      to: "record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now - 36_000_000",
    },
    caughtBy: { seeds: 1_000 },
    says: /stuck: .* is in_progress .*, for \d+ s/,
  },
  {
    bug: 'who was interrupted goes on ten hours later',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) <= now",
      to: "return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) <= now - 36_000_000",
    },
    caughtBy: { seeds: 1_000 },
    says: /stuck: .* is in_progress .*, for \d+ s/,
  },
  {
    bug: 'a doubt that was swept is first looked at ten hours later',
    patch: {
      file: 'src/engine/transitions.ts',
      from: 'const said = { errorCode: leaseOver, reconcileAfter: now,',
      to: 'const said = { errorCode: leaseOver, reconcileAfter: now + 36_000_000,',
    },
    caughtBy: { seeds: 3_000 },
    says: /stuck: .* is unknown .*, for \d+ s/,
  },
  {
    bug: 'a doubt is looked at when it is ten hours overdue',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "if (current.state !== 'unknown' || !isDue(current, now)) return undefined",
      to: "if (current.state !== 'unknown' || !isDue(current, now - 36_000_000)) return undefined",
    },
    caughtBy: { seeds: 3_000 },
    says: /stuck: .* is unknown .*, for \d+ s/,
  },
  {
    bug: 'an effect that failed is tried again ten hours later',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'const dueInMs = ',
      to: 'const dueInMs = 36_000_000 + ',
    },
    caughtBy: { seeds: 20_000 },
    says: /stuck: effect \d+ is ready .*, for \d+ s/,
  },
  {
    bug: 'an event is acknowledged although the store has failed',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: 'return await received(checked)\n    } catch (error) {\n      return failed(error, options)',
      to: 'return await received(checked)\n    } catch {\n      return processed',
    },
    caughtBy: { seeds: 3_000 },
    says: /was acknowledged, and is not on record/,
  },
  {
    bug: 'what a provider tells of a doubt does not count, and is left to people',
    patch: {
      file: 'src/engine/believing.ts',
      from: "const landed = said.filter(({ says }) => says === 'landed')",
      to: "const landed = said.filter(({ says, by }) => says === 'landed' && by.startsWith('operator'))",
    },
    caughtBy: { seeds: 6_000 },
    says: /was left to people, although an event tells that it landed/,
  },
  {
    bug: 'one key stands for the same body on every route',
    patch: {
      file: 'src/http/target.ts',
      from: 'return { subject: [method, target], query: undefined }',
      to: 'return { subject: [method], query: undefined }',
    },
    caughtBy: { seeds: 6_000 },
    says: /was answered by another route/,
  },
  {
    bug: 'who was slow takes the answer of an operator for his own',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '    claimId: noClaim,\n    evidence: [',
      to: '    claimId: current.claimId + noClaim,\n    evidence: [',
    },
    caughtBy: {
      case: 'a holder that was stopped and goes on against the sweeper and an operator who answers for it',
    },
    says: /was sent something else than what is stored/,
  },
  {
    bug: 'the lease of an effect that begins is counted from the reply',
    patch: {
      file: 'src/effects/carrying.ts',
      from: 'held.endsAt = Math.max(held.endsAt, sentAt + leaseMs)',
      to: 'held.endsAt = Math.max(held.endsAt, sentAt, clock.elapsed() + leaseMs)',
    },
    caughtBy: {
      case: 'a worker that was stopped when it had begun an effect against its reconciler and another worker',
    },
    says: /a second shipment/,
  },
  {
    bug: 'the renewed lease of an effect is counted from the reply',
    patch: {
      file: 'src/effects/holding.ts',
      from: 'Math.max(held.endsAt, sentAt + leaseMs)',
      to: 'Math.max(held.endsAt, sentAt, clock.elapsed() + leaseMs)',
    },
    caughtBy: {
      case: 'a worker that was stopped when it had begun an effect, and again when it had renewed its lease, against others',
    },
    says: /a second shipment/,
  },
  {
    bug: 'an effect is called although its lease does not last as long as that may take',
    patch: {
      file: 'src/effects/calling.ts',
      from: 'if (clock.elapsed() + kind.timeoutMs > endsAt || stopping.isStopped)',
      to: 'if (endsAt < 0 || stopping.isStopped)',
    },
    caughtBy: {
      case: 'a worker that was stopped when it had begun an effect, and again when it had renewed its lease, against others',
    },
    says: /a second shipment/,
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
    bug: '“not landed” about an effect is believed before the lookup shows what has landed',
    patch: {
      file: 'src/effects/evidence.ts',
      from: 'doubtedAt + kind.timeoutMs + kind.readLagMs',
      to: 'doubtedAt + kind.timeoutMs',
    },
    caughtBy: {
      case: 'an effect that arrives at the last moment, which its lookup does not show yet, against its reconciler and a worker',
    },
    says: /a second shipment/,
  },
  {
    bug: 'what a handler answers with 5xx is stored, and so replayed',
    patch: {
      file: 'src/engine/evidence.ts',
      from: "if (answer.status < 500) return { kind: 'complete', answer }",
      to: "if (answer.status < 600) return { kind: 'complete', answer }",
    },
    caughtBy: { case: 'a phased operation that answers with 503 against the resumer and a retry, one crash' },
    says: /answered with 503|ended in 503/,
  },
  {
    bug: 'a request as one transaction that fails keeps its rows',
    patch: {
      file: 'src/engine/single.ts',
      from: "if (ending.kind !== 'complete' || ending.answer === undefined) {",
      to: "if (result.kind !== 'answered' || ending.kind !== 'complete' || ending.answer === undefined) {\n          if (result.kind === 'answered') return stepOf(guarded, { ending: { kind: 'complete', answer: result.answer }, effects: asked, record })",
    },
    caughtBy: { case: 'a request as one transaction that answers with 503 against its retry, one ambiguous commit' },
    says: /which is answered with 503|ended in 503/,
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
    bug: 'what may run again after a crash is in doubt all the same',
    patch: {
      file: 'src/engine/reserving.ts',
      from: "onLeaseOver: policy.onCrash === 'retry' ? 'resume' : 'doubt'",
      to: "onLeaseOver: policy.leaseMs < 0 ? 'resume' : 'doubt'",
    },
    caughtBy: {
      case: 'a handler that makes its call by itself, with a key of ours, against two retries, two crashes',
    },
    says: /is in doubt after a crash, although it may simply run again/,
  },
  {
    bug: 'an operation that failed goes on ten hours later',
    patch: {
      file: 'src/engine/finishing.ts',
      from: 'const resumeAfterMs = backoffMs(backoffs.resuming, attempt, context.chance)',
      to: 'const resumeAfterMs = 36_000_000 + backoffMs(backoffs.resuming, attempt, context.chance)',
    },
    caughtBy: { seeds: 6_000 },
    says: /stuck: .* is failed_retryable/,
  },
]
