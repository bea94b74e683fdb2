/**
 * Requests that share statements, and requests that are one transaction.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const statementBugs = [
  {
    bug: 'two requests of one batch are both told that their key was new',
    patch: {
      file: 'src/stores/postgres/batching-table.ts',
      from: "{ kind: 'known', found: inserted.found && copied(inserted.found) } : undefined",
      to: "{ kind: 'known', found: inserted.found && copied(inserted.found) } : inserted",
    },
    caughtBy: { case: 'three requests with two keys in group commits, one crash' },
    says: /was asked for blindly/,
  },
  {
    bug: 'who has waited for a lane for too long is sent away, and his request goes on all the same',
    patch: {
      file: 'src/stores/postgres/lanes.ts',
      from: 'queue = queue.filter(({ since }) => since >= arrivedBefore)',
      to: 'queue = queue.filter(({ since }) => since >= 0)',
    },
    caughtBy: { case: 'a request that waits for a lane for too long, since its process is stopped, in group commits' },
    says: /was told that nothing happened, and its key was taken for it later/,
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
    says: /was answered before that was durable/,
  },
  {
    bug: 'a COMMIT without a reply is taken for one that has happened',
    patch: {
      file: 'src/stores/postgres/phase.ts',
      from: 'return (await from.lastWritten(claim))?.committedIn === committedIn',
      to: 'await from.lastWritten(claim)\n  return committedIn.length > 0',
    },
    caughtBy: { case: 'two requests as one transaction each, one crash, one ambiguous commit' },
    says: /was answered before that was durable/,
  },
  {
    bug: 'a request as one transaction that fails keeps its rows',
    patch: {
      file: 'src/engine/single.ts',
      from: "if (ending.kind !== 'complete' || ending.answer === undefined) {",
      to: "if (result.kind !== 'answered' || ending.kind !== 'complete' || ending.answer === undefined) {\n          if (result.kind === 'answered') return stepOf(guarded, { ending: { kind: 'complete', answer: result.answer }, effects: asked, record })",
    },
    caughtBy: { case: 'a request as one transaction that answers with 503 against its retry, one ambiguous commit' },
    says: /k1 ended in 503/,
  },
  {
    bug: 'of two requests that share a statement each is told what came of the other one',
    patch: {
      file: 'src/stores/postgres/batching-table.ts',
      from: 'const result = results[place]\n',
      to: 'const result = results[firsts.length - 1 - place]\n',
    },
    caughtBy: { case: 'a request, another one under its key, and one under another key, in group commits' },
    says: /k2 was refused with idempotency_key_reused_with_different_payload, and its key was taken for it/,
  },
  {
    bug: 'a request that does not fit renews the lease of the one that does, where they share statements',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (comparison !== undefined) return { verdict: comparison }\n  if (isOwn',
      to: "  if (comparison !== undefined) return { verdict: comparison, ...(current.state === 'in_progress' && { next: leased(current, reservation.leaseMs, now) }) }\n  if (isOwn",
    },
    caughtBy: { case: 'a request, another one under its key, and one under another key, in group commits' },
    says: /k1 was changed while it was under way, and not by its holder/,
  },
  {
    bug: 'whoever sends another request under a key is told that he may not see its answer',
    patch: {
      file: 'src/engine/executing.ts',
      from: "new HapaxError('idempotency_key_reused_with_different_payload', message)",
      to: "new HapaxError('replay_forbidden', message)",
    },
    caughtBy: { case: 'a request, another one under its key, and one under another key, in group commits' },
    says: /was refused with 403 replay_forbidden, which is not told here/,
  },
]
