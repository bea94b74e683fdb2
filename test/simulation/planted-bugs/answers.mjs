/**
 * What is stored, sent and replayed, and for how long.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const answerBugs = [
  {
    bug: 'a cached answer outlives its record',
    patch: {
      file: 'src/engine/recent-replays.ts',
      from: 'return onTheWall < 0 ? 0 : forMs - Math.max(clock.elapsed() - keptAt, onTheWall)',
      to: 'return onTheWall < 0 ? 0 : forMs + keptAt',
    },
    caughtBy: { seeds: 20_000 },
    says: /was sent something else than what is stored/,
  },
  {
    bug: 'a cached answer has none but the bytes of plain text',
    patch: {
      file: 'src/engine/recent-replays.ts',
      from: "byteLength).toString('latin1')",
      to: "byteLength).toString('ascii')",
    },
    caughtBy: { seeds: 1_000 },
    says: /something else than what is stored/,
  },
  {
    bug: 'a cached answer is taken for UTF-8',
    patch: [
      {
        file: 'src/engine/recent-replays.ts',
        from: "byteLength).toString('latin1')",
        to: "byteLength).toString('utf8')",
      },
      { file: 'src/engine/recent-replays.ts', from: "Buffer.from(body, 'latin1')", to: "Buffer.from(body, 'utf8')" },
    ],
    caughtBy: { seeds: 1_000 },
    says: /something else than what is stored/,
  },
  {
    bug: 'an answer is cached before it is durable',
    patch: {
      file: 'src/engine/finishing.ts',
      from: '  const completed = context.store.complete(claim, { answer: asked.answer, answerVersion: guarded.policy.answerVersion })\n',
      to: '  cache(run, asked.answer, { askedAt: asked.askedAt, expiresAt: undefined })\n  const completed = context.store.complete(claim, { answer: asked.answer, answerVersion: guarded.policy.answerVersion })\n',
    },
    caughtBy: { seeds: 6_000 },
    says: /was answered before that was durable/,
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
    bug: 'an answer is sent before it is stored',
    patch: {
      file: 'src/engine/finishing.ts',
      from: '  if (isPromise(completed)) return completed.then((completed) => told(run, asked, completed, result))\n',
      to: '  if (isPromise(completed)) return told(run, asked, { expiresAt: undefined }, result)\n',
    },
    caughtBy: { seeds: 1_000 },
    says: /was answered before that was durable/,
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
    bug: 'a tombstone is deleted as soon as it is made',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "nextState(current.state, 'delete') === 'none' && now >= tombstoneUntil ? 'deleted'",
      to: "nextState(current.state, 'delete') === 'none' && tombstoneUntil > 0 ? 'deleted'",
    },
    caughtBy: { seeds: 20_000 },
    says: /was deleted too early/,
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
    bug: 'an answer is kept for a minute and a half, whatever was promised',
    patch: {
      file: 'src/engine/next-record.ts',
      from: 'return retentionMs === undefined ? undefined : now + retentionMs',
      to: 'return retentionMs === undefined ? undefined : now + retentionMs / 1_000',
    },
    caughtBy: { seeds: 1_000 },
    says: /the answer of .* is kept for 86400 ms only/,
  },
  {
    bug: 'an answer is kept from when its key was taken, and not from when it was given',
    patch: {
      file: 'src/engine/next-record.ts',
      from: '    completedAt: now,\n    expiresAt: expiryOf(current, now),',
      to: '    completedAt: now,\n    expiresAt: current.expiresAt,',
    },
    caughtBy: { seeds: 1_000 },
    says: /the answer of .* is kept for \d+ ms only/,
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
    says: /was deleted too early/,
  },
  {
    bug: 'what a handler answers with 5xx is stored, and so replayed',
    patch: {
      file: 'src/engine/evidence.ts',
      from: "if (answer.status < 500) return { kind: 'complete', answer }",
      to: "if (answer.status < 600) return { kind: 'complete', answer }",
    },
    caughtBy: { case: 'a phased operation that answers with 503 against the resumer and a retry, one crash' },
    says: /k1 ended in 503/,
  },
  {
    bug: 'whoever is refused never hears of it',
    patch: {
      file: 'src/http/door.ts',
      from: "      case 'refused':\n        return this.#told(outcome.error)",
      to: "      case 'refused':\n        return new Promise(() => {})",
    },
    caughtBy: { case: 'two requests, one crash, one ambiguous commit' },
    says: /nothing is under way, and client 2 never hears what came of it/,
  },
  {
    bug: 'whoever is answered never hears of it',
    patch: {
      file: 'src/http/door.ts',
      from: "      case 'answered':\n        return this.#answered(outcome)",
      to: "      case 'answered':\n        return new Promise(() => {})",
    },
    caughtBy: { case: 'two requests, one crash, one ambiguous commit' },
    says: /nothing is under way, and client 2 never hears what came of it/,
  },
  {
    bug: 'whoever tells of an event once again is never told that it is on record',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: "    if (receipt.kind === 'duplicate') {\n",
      to: "    if (receipt.kind === 'duplicate') {\n      await new Promise(() => {})\n",
    },
    caughtBy: { seeds: 1_000 },
    says: /nothing is under way, and the provider of .* never hears what came of it/,
  },
  {
    bug: 'who waits for a handler that hangs is told nothing once its key is lost',
    patch: {
      file: 'src/engine/lease.ts',
      from: 'if (!this.#isStopped && this.#cancelMaxRun === nothing) this.#boundRun()\n    this.#letGo()\n',
      to: 'this.stop()\n',
    },
    caughtBy: { seeds: 6_000 },
    says: /nothing is under way, and client .* never hears what came of it/,
  },
  {
    bug: 'who was slow is given the answer of a later generation',
    patch: {
      file: 'src/engine/finishing.ts',
      from: "if (record?.generation !== claim.generation || record.state !== 'completed') return undefined",
      to: "if (record?.state !== 'completed') return undefined",
    },
    caughtBy: { case: 'a holder that was stopped while an operator answered for it, and its key was used anew' },
    says: /acme\/k1 ran in generation 1, and was sent the answer of generation 2/,
  },
]
