/**
 * Which request is the same, whose it is, and what is no request.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const requestBugs = [
  {
    bug: 'a different request gets the answer of the first',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (comparison !== undefined) return { verdict: comparison }\n',
      to: '',
    },
    caughtBy: { seeds: 3_000 },
    says: /was sent the answer to another request/,
  },
  {
    bug: 'a cached answer is given to a different request',
    patch: {
      file: 'src/engine/executing.ts',
      from: "  if (comparison === undefined) return replayed(context, guarded, kept.answer, kept, 'cache')\n",
      to: "  if (comparison?.kind !== 'incomparable') return replayed(context, guarded, kept.answer, kept, 'cache')\n",
    },
    caughtBy: { seeds: 3_000 },
    says: /was sent the answer to another request/,
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
    bug: 'whether a request is the same is asked after whether it is under way',
    patch: {
      file: 'src/engine/transitions.ts',
      from: '  if (comparison !== undefined) return { verdict: comparison }\n  if (isOwn',
      to: "  if (comparison !== undefined && current.state !== 'in_progress') return { verdict: comparison }\n  if (isOwn",
    },
    caughtBy: { suite: 'another request under a key that is in progress is a mismatch, and changes nothing' },
  },
  {
    bug: 'a key whose answer has expired refuses another request',
    patch: [
      {
        file: 'src/engine/transitions.ts',
        from: '  if (isExpired(current, now)) {\n',
        to: '  const other = compared(current, reservation)\n  if (other !== undefined) return { verdict: other }\n  if (isExpired(current, now)) {\n',
      },
    ],
    caughtBy: { case: 'another request under a key whose answer has expired, one crash' },
    says: /was told of another request, and its key stands for none any more/,
  },
  {
    bug: 'whoever meets one that is under way is told that nobody knows',
    patch: {
      file: 'src/engine/duplicates.ts',
      from: "  return new HapaxError('idempotency_key_in_progress', 'Wait",
      to: "  return new HapaxError('outcome_unknown', 'Wait",
    },
    caughtBy: { seeds: 3_000 },
    says: /was told that nobody knows, and has met no doubt/,
  },
  {
    bug: 'whoever meets a doubt is told that it is under way',
    patch: {
      file: 'src/engine/transitions.ts',
      from: "      return { verdict: unknownVerdict(current, now) }\n    case 'failed_retryable'",
      to: "      return { verdict: { kind: 'in_progress', leaseLeftMs: 1_000 } }\n    case 'failed_retryable'",
    },
    caughtBy: { seeds: 6_000 },
    says: /was told that it is under way, and has met nobody who has its key/,
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
    bug: 'all requests without a key share one',
    patch: {
      file: 'src/http/door.ts',
      from: 'keyOf(this.#engine.chance.id())',
      to: 'keyOf((this.#engine.minted ??= this.#engine.chance.id()))',
    },
    caughtBy: { case: 'two requests without a key at one node, one crash' },
    says: /met a request that it is not/,
  },
  {
    bug: 'of two keys the first is taken',
    patch: {
      file: 'src/http/header.ts',
      from: "lines !== 'string' && lines !== undefined && lines.length > 1",
      to: "lines !== 'string' && lines !== undefined && lines.length > 2",
    },
    caughtBy: { case: 'a request, and two at its node whose keys are misspelt, one crash' },
    says: /was sent \d+, and not refused with idempotency_key_malformed/,
  },
  {
    bug: 'a key that is no key is taken for none',
    patch: {
      file: 'src/http/door.ts',
      from: "lines.length === 0 && key === 'optional' ? undefined",
      to: "(lines.length === 0 || /[^!-~]/.test(lines[0] ?? '')) && key === 'optional' ? undefined",
    },
    caughtBy: { case: 'a request, and two at its node whose keys are misspelt, one crash' },
    says: /was refused with idempotency_key_malformed, and changed \d+ rows/,
  },
  {
    bug: 'one key stands for the same body on every route',
    patch: {
      file: 'src/http/target.ts',
      from: 'return { subject: [method, target], query: undefined }',
      to: 'return { subject: [method], query: undefined }',
    },
    caughtBy: { seeds: 6_000 },
    says: /asked for \w+, and was answered by another route/,
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
]
