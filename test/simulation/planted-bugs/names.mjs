/**
 * Keys, scopes and downstream keys that are not told apart.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const nameBugs = [
  {
    bug: 'keys that differ in a capital are one',
    patch: {
      file: 'src/http/header.ts',
      from: 'return keyOf(text, rules)',
      to: 'return keyOf(text.toLowerCase(), rules)',
    },
    caughtBy: { case: 'two keys that differ in a capital' },
    says: /was sent the answer to another request/,
  },
  {
    bug: 'the inbox does not tell whose event it is',
    patch: {
      file: 'src/inbox/inbox.ts',
      from: '    return await store.receive({ provider, eventId }, work)\n',
      to: "    const taken = (hapax.taken ??= new Set())\n    if (taken.has(eventId)) return { kind: 'duplicate' }\n    const receipt = await store.receive({ provider, eventId }, work)\n    taken.add(eventId)\n    return receipt\n",
    },
    caughtBy: { case: 'webhooks of two services that number their events alike, one crash' },
    says: /the event of .* was acknowledged, and is not on record/,
  },
  {
    bug: 'the parts of a scope are not escaped',
    patch: { file: 'src/engine/scope.ts', from: 'return encodeURIComponent(part)', to: 'return part' },
    caughtBy: {
      case: 'a tenant, and another whose name is what a scope would make of him, with one key',
    },
    says: /was sent an answer of tenant/,
  },
  {
    bug: 'the downstream key does not tell the phase',
    patch: {
      file: 'src/engine/downstream-key.ts',
      from: 'String(generation), name, String(sequence)]',
      to: 'String(generation), name.slice(0, 0), String(sequence)]',
    },
    caughtBy: { case: 'two calls and two effects of one request, one crash' },
    says: /a fee for .* was asked for under the downstream key of a charge/,
  },
  {
    bug: 'the downstream key does not tell which effect of its phase it is for',
    patch: {
      file: 'src/engine/downstream-key.ts',
      from: 'name, String(sequence)]',
      to: 'name, String(sequence).slice(0, 0)]',
    },
    caughtBy: { case: 'two calls and two effects of one request, one crash' },
    says: /something is stuck: k1 is failed_retryable/,
  },
  {
    bug: 'a call and an effect may have one downstream key',
    patch: {
      file: 'src/engine/downstream-key.ts',
      from: '[domains[derivation], scope, key, String(generation), name, String(sequence)]',
      to: '[domains[derivation] && domains.call, scope, key, String(generation), name.slice(0, 0), String(sequence)]',
    },
    caughtBy: { case: 'webhooks of two services that number their events alike, one crash' },
    says: /a receipt for .* was asked for under the downstream key of a charge/,
  },
]
