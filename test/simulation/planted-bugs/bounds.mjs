/**
 * What never comes right, and when somebody is told.
 *
 * @type {readonly import('../../../scripts/simulation/sabotage.mjs').PlantedBug[]}
 */
export const boundBugs = [
  {
    bug: 'an operation that fails each time goes on for ever',
    patch: {
      file: 'src/engine/finishing.ts',
      from: 'if (attempt >= limits.resumeAttempts) return giveUp',
      to: 'if (attempt < 0) return giveUp',
    },
    caughtBy: { case: 'a call behind which its handler throws each time, and nobody mends it, one crash' },
    says: /goes on by itself after 40 attempts/,
  },
  {
    bug: 'an operation that fails is given up after four attempts',
    patch: { file: 'src/kernel/limits.ts', from: 'resumeAttempts: 40', to: 'resumeAttempts: 4' },
    caughtBy: {
      case: 'a phased operation that answers with 503 each time, and nobody mends it, against its retry',
    },
    says: /was given up after 4 attempts/,
  },
  {
    bug: 'an operation that ends its process each time goes on for ever',
    patch: {
      file: 'src/engine/resuming.ts',
      from: 'if (verdict.record.attempt > limits.resumeAttempts) return tooOften',
      to: 'if (verdict.record.attempt < 0) return tooOften',
    },
    caughtBy: { case: 'a call that ends whoever makes it, each time' },
    says: /^after a day something is stuck: \S+ is in_progress/,
  },
  {
    bug: 'a provider that can never say what became of a call is asked for days, however often',
    patch: {
      file: 'src/engine/reconciling.ts',
      from: 'if (looks >= limits.looks || isOld) return leave',
      to: 'if (isOld) return leave',
    },
    caughtBy: { case: 'a call whose provider can never say what became of it, one broken line' },
    says: /the doubt about \S+ is looked at again after 50 looks in vain/,
  },
  {
    bug: 'a provider that cannot say what became of a call is asked five times',
    patch: { file: 'src/kernel/limits.ts', from: 'looks: 50,', to: 'looks: 5,' },
    caughtBy: { case: 'a call whose provider can never say what became of it, one broken line' },
    says: /the doubt about \S+ was left to people after 5 looks in vain/,
  },
  {
    bug: 'a provider that never answers who asks about a call is asked for ever',
    patch: {
      file: 'src/engine/reconciling.ts',
      from: 'if (looks >= limits.looks || isOld) return leave',
      to: 'if (looks >= limits.looks) return leave',
    },
    caughtBy: { case: 'a call whose provider never answers who asks what became of it, one broken line' },
    says: /^something is stuck: .* is unknown/,
  },
  {
    bug: 'a provider that can never say what became of an effect is asked for ever',
    patch: {
      file: 'src/effects/reconciler.ts',
      from: 'if (looks >= effectBounds.looks) return giveUp',
      to: 'if (looks < 0) return giveUp',
    },
    caughtBy: { case: 'an effect whose provider can never say what became of it, one broken line' },
    says: /the doubt about effect \S+ is looked at again after 30 looks in vain/,
  },
  {
    bug: 'a provider that cannot say what became of an effect is asked three times',
    patch: { file: 'src/kernel/limits.ts', from: 'looks: 30,', to: 'looks: 3,' },
    caughtBy: { case: 'an effect whose provider can never say what became of it, one broken line' },
    says: /the doubt about effect \S+ was left to people after 3 looks in vain/,
  },
  {
    bug: 'a provider that never answers who asks about an effect is asked for ever',
    patch: {
      file: 'src/effects/reconciler.ts',
      from: '> limits.doubtMs) return giveUp',
      to: '> Number.POSITIVE_INFINITY) return giveUp',
    },
    caughtBy: { case: 'an effect whose provider never answers who asks what became of it, one broken line' },
    says: /^something is stuck: effect \S+ is unknown/,
  },
  {
    bug: 'a provider that does not answer who asks about a call is given up at once',
    patch: {
      file: 'src/kernel/limits.ts',
      from: 'doubtMs: 3 * day',
      to: 'doubtMs: 3 * minute',
    },
    caughtBy: { case: 'a call whose provider never answers who asks what became of it, one broken line' },
    says: /the doubt about \S+ was left to people after 0 looks in vain/,
  },
]
