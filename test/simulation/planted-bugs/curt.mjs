/**
 * Somebody says that something landed, and not with what.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const curtBugs = [
  {
    bug: 'a call that landed, as somebody says who does not say with what, is made again',
    patch: {
      file: 'src/engine/calling.ts',
      from: 'if (open.needsResult === false) return { result: undefined }',
      to: 'return open.needsResult === false ? { result: undefined } : undefined',
    },
    caughtBy: {
      case: 'a call whose provider denies what he has told of, and not what it gave, against its reconciler and a retry',
    },
    says: /was asked for when it was on record that it has landed/,
  },
  {
    bug: 'an effect that landed, as somebody says who does not say with what, is carried out again',
    patch: {
      file: 'src/effects/carrying.ts',
      from: "if (toldToHaveLanded(effect, said) === 'landed') return settled",
      to: 'if (effect.id < 0) return settled',
    },
    caughtBy: {
      case: 'an effect whose provider denies what he has told of, and not what it gave, against its reconciler and another worker',
    },
    says: /was asked for when it was on record that it has landed/,
  },
  {
    bug: 'a lookup that finds nothing is believed, although somebody has said that the call landed',
    patch: {
      file: 'src/engine/reconciling.ts',
      from: "if (looked.kind === 'not_landed') return { kind: 'not_yet', errorCode: 'evidence_contradicted' }",
      to: "if (looked.kind === 'not_landed') return looked",
    },
    caughtBy: {
      case: 'a call whose provider denies what he has told of, and not what it gave, against its reconciler and a retry',
    },
    says: /the doubt about \S+ ended as not landed, and it was on record that it has/,
  },
  {
    bug: 'a lookup that finds nothing is believed, although somebody has said that the effect landed',
    patch: {
      file: 'src/effects/reconciler.ts',
      from: "if (evidence.kind === 'not_landed' && told === 'landed') return lookAgain(effect)",
      to: '',
    },
    caughtBy: {
      case: 'an effect whose provider denies what he has told of, and not what it gave, against its reconciler and another worker',
    },
    says: /the doubt about effect \S+ ended as not landed, and it was on record that it has/,
  },
  {
    bug: 'a call that landed goes on without what it gave',
    patch: {
      file: 'src/engine/believing.ts',
      from: "if (landed?.kind === 'bare' && call.needsResult !== false) {",
      to: 'if (call.needsResult === undefined) {',
    },
    caughtBy: { case: 'a request against a webhook that tells of its call, and not what it gave, one crash' },
    says: /there is a letter for \S+, which is answered with 202/,
  },
  {
    bug: 'a call of which it is enough that it landed waits for what it gave',
    patch: {
      file: 'src/engine/believing.ts',
      from: "if (landed?.kind === 'bare' && call.needsResult !== false) {",
      to: "if (landed?.kind === 'bare') {",
    },
    caughtBy: {
      case: 'a request that needs nothing of what its call gives against a webhook that does not say it, one crash',
    },
    says: /was left to people, although an event tells that it landed/,
  },
  {
    bug: 'an effect that landed goes on without what it gave',
    patch: {
      file: 'src/effects/evidence.ts',
      from: 'return kind.apply !== undefined',
      to: 'return kind.name === undefined',
    },
    caughtBy: {
      case: 'an effect whose provider denies what he has told of, and not what it gave, against its reconciler and another worker',
    },
    says: /there is a unproven for \S+, which is none of the sales/,
  },
]
