/**
 * Effects, their leases, and doubts about them.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const effectBugs = [
  {
    bug: 'nobody looks after an effect whose turn it is and who was not told',
    patch: {
      file: 'src/stores/postgres/effects/turns.ts',
      from: "const { told, next = '' } = await statements.look(lookedTo, effectBounds.orders)",
      to: 'const { told, next = lookedTo } = { told: 0, next: undefined }',
    },
    caughtBy: { case: 'two effects of one order, one crash' },
    says: /something is stuck: effect/,
  },
  {
    bug: 'a lease whose renewal was not heard of is held to be renewed',
    patch: {
      file: 'src/effects/holding.ts',
      from: 'if (answers === undefined) return\n',
      to: 'if (answers === undefined) {\n      for (const held of due) held.endsAt = Math.max(held.endsAt, sentAt + leaseMs)\n      return\n    }\n',
    },
    caughtBy: { case: 'a worker that was stopped when it had begun an effect against others, one broken line' },
    says: /a second shipment for/,
  },
  {
    bug: 'who cannot read what was said of an effect carries it out',
    patch: {
      file: 'src/effects/carrying.ts',
      from: 'around.words.about([effect]).catch(codeOf)',
      to: 'around.words.about([effect]).catch(() => [] as Awaited<ReturnType<typeof around.words.about>>)',
    },
    caughtBy: {
      case: 'an effect whose provider denies for a while what he tells of later, against its reconciler and another worker',
    },
    says: /was asked for when it was on record that it has landed/,
  },
  {
    bug: 'who has begun an effect that was swept since does not record what came of it',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: "  if (!mayEnd(current, holder)) return undefined\n  return changedEffect(current, { providerId, result, onLeaseOver: 'resume' })",
      to: "  if (!holds(current, holder)) return undefined\n  return changedEffect(current, { providerId, result, onLeaseOver: 'resume' })",
    },
    caughtBy: {
      case: 'an effect about which nobody can be asked, whose worker was slow or stopped, against another worker and the reconciler',
    },
    says: /was left to people, although/,
  },
  {
    bug: '“not landed” about an effect is believed of whoever says so, however early',
    patch: {
      file: 'src/effects/evidence.ts',
      from: 'Math.min(at, clock.now()) >= from',
      to: 'at > 0 && from > 0',
    },
    caughtBy: { seeds: 40_000 },
    says: /a second shipment/,
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
    says: /a second shipment/,
  },
  {
    bug: 'an effect in doubt is tried again',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'const mayRepeat = !isOver && !isForgotten(kind, age.sinceFirstStartedMs + dueInMs)',
      to: 'const mayRepeat = !isOver',
    },
    caughtBy: { seeds: 20_000 },
    says: /a second shipment/,
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
    says: /a second shipment/,
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
    bug: 'an effect forgets the order that it asked for',
    patch: {
      file: 'src/engine/collected-effects.ts',
      from: 'order: order ?? orderOf(known, payload),',
      to: "order: orderOf(known, payload) === '' ? order : undefined,",
    },
    caughtBy: { seeds: 20_000 },
    says: /was shipped before an earlier one of its order/,
  },
  {
    bug: 'an effect that is claimed again keeps its fence',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: '    fence: current.fence + 1,',
      to: '    fence: Math.max(1, current.fence),',
    },
    caughtBy: { case: 'the effect worker, whose provider knows no keys, against one that was stopped and goes on' },
    says: /was claimed again under its old fence/,
  },
  {
    bug: 'an effect whose key its provider has forgotten is sent again',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'if (mayBeKnown && isForgotten(kind, age.sinceFirstStartedMs))',
      to: 'if (mayBeKnown && age.sinceFirstStartedMs < 0)',
    },
    caughtBy: { case: 'the effect worker against one that comes when the key is forgotten, one crash' },
    says: /a receipt for .* was asked for again when its provider may have forgotten the key/,
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
    bug: 'an effect that failed is tried again ten hours later',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'const dueInMs = ',
      to: "const dueInMs = (failure.of === 'not_sent' ? 0 : 36_000_000) + ",
    },
    caughtBy: { seeds: 20_000 },
    says: /^something is stuck: effect \d+ is ready .*, for \d+ s/,
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
    bug: 'an effect that fails is tried for ever',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'const isOver = attempt >= kind.attempts || age.sinceCreatedMs + dueInMs > kind.withinMs',
      to: 'const isOver = false as boolean',
    },
    caughtBy: {
      case: 'an effect whose provider is always busy, one broken line',
    },
    says: /after a day something is stuck: an effect shipment.urge is ready/,
  },
  {
    bug: 'an effect that was declined is tried again',
    patch: {
      file: 'src/effects/deciding.ts',
      from: "if (failure.of === 'answered') return { kind: 'dead', errorCode }",
      to: "if (failure.of === 'answered') failure = { of: 'not_sent', errorCode }",
    },
    caughtBy: {
      case: 'an effect that is declined against another worker, and one behind it, one crash',
    },
    says: /effect 1 was declined, and is ready/,
  },
  {
    bug: 'an effect that ends its workers is carried out for ever',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'return unsettled(effect) >= (',
      to: 'return effect.id < 0 && unsettled(effect) >= (',
    },
    caughtBy: {
      case: 'an effect that ends whoever carries it out, one broken line',
    },
    says: /stuck/,
  },
  {
    bug: 'what an effect gave too late is dropped',
    patch: {
      file: 'src/effects/late.ts',
      from: 'const written = insisted(held, said)',
      to: 'const written = Promise.resolve()',
    },
    caughtBy: {
      case: 'an effect whose reply is late, and about which nobody can be asked, against its reconciler',
    },
    says: /a doubt about .* was left to people, although .* has heard that it landed/,
  },
  {
    bug: 'what a lookup says of an effect is acted on before it is on record',
    patch: {
      file: 'src/effects/reconciler.ts',
      from: 'await keep(effect, evidence)',
      to: 'void keep(effect, evidence)',
    },
    caughtBy: {
      case: 'an effect whose reply is lost against its reconciler',
    },
    says: /the doubt about effect 1 ended as .*, and nobody has said so on record/,
  },
  {
    bug: 'an effect is called again that was told to have landed',
    patch: {
      file: 'src/effects/carrying.ts',
      from: 'return isAsked ? unlessLanded(',
      to: 'return isAsked && effect.id < 0 ? unlessLanded(',
    },
    caughtBy: {
      case: 'an effect whose provider denies for a while what he tells of later, against its reconciler and another worker',
    },
    says: /a shipment for .* was asked for when it was on record that it has landed/,
  },
  {
    bug: 'who looked at a doubt about an effect puts off what was said about it since',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: '(dueAt !== undefined && dueAt !== current.reconcileAfter)',
      to: '(dueAt !== undefined && dueAt < 0)',
    },
    caughtBy: { case: 'a doubt about an effect that is put off by a word that comes late against a webhook' },
    says: /a doubt about .* was left to people, although an event tells that it landed/,
  },
  {
    bug: 'an effect is tried again until the moment in which its key is forgotten',
    patch: {
      file: 'src/effects/deciding.ts',
      from: 'sinceFirstStartedMs + timeoutMs > honoursKeyMs - effectBounds.keyMarginMs',
      to: 'sinceFirstStartedMs > honoursKeyMs',
    },
    caughtBy: {
      case: 'the effect worker against one that comes when the key is nearly forgotten, one crash, one request that is slow',
    },
    says: /was asked for again when its provider may have forgotten the key/,
  },
  {
    bug: 'the key of an effect is as young as the claim after it was given back',
    patch: {
      file: 'src/engine/effect-transitions.ts',
      from: 'firstStartedAt: isFirst ? undefined : firstStartedAt,',
      to: 'firstStartedAt: isFirst ? undefined : undefined,',
    },
    caughtBy: {
      case: 'the effect worker against one that gives it back, being slow, and one that comes when the key is forgotten',
    },
    says: /was asked for again when its provider may have forgotten the key/,
  },
]
