/**
 * Failures that are answers, and those that a handler hides.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const failureBugs = [
  {
    bug: 'what is stored behind a commit that nobody heard of is taken for the answer',
    patch: {
      file: 'src/engine/finishing.ts',
      from: "const isSure = run.work.commitState.kind !== 'unsure'",
      to: 'const isSure = run.work !== undefined',
    },
    caughtBy: {
      case: 'a commit that nobody heard of, whose handler fails in words of its own that are stored',
    },
    says: /something else than what is stored/,
  },
  {
    bug: 'a phase of which nobody knows whether it has committed may be followed by an answer',
    patch: {
      file: 'src/engine/phases.ts',
      from: 'if (isWritten) this.unsure(error)\n      else this.undone(name)',
      to: 'if (!isWritten) this.undone(name)',
    },
    caughtBy: { case: 'a phase that nobody heard of, whose handler answers that there is nothing' },
    says: /there is a rides for .*, which is answered with 200/,
  },
]
