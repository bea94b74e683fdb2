import type { Keys, Stage, Step, Surroundings } from '../support/stage.js'
import { startedAt } from '../support/stage.js'

/** One way to be killed at a point, and to recover from it. */
export interface Scenario {
  readonly title: string
  readonly surroundings: Surroundings
  play(stage: Stage): Promise<void>
}

/** Who makes things good again: the client that tries again, or nobody but the workers. */
export const recoveries = ['the retry', 'the workers'] as const
export type Recovery = (typeof recoveries)[number]

export const bothKeys: readonly Keys[] = ['honoured', 'forgotten']

/** Times on the store's clock, each after everything that the one before has set has run out. */
export const leaseOver: Step = { do: 'time', at: startedAt + 60_000 }
export const believable: Step = { do: 'time', at: startedAt + 180_000 }
export const muchLater: Step = { do: 'time', at: startedAt + 600_000 }

export const ride: Step = { do: 'ride' }
export const book: Step = { do: 'book' }
export const crowd: Step = { do: 'crowd' }
export const sweep: Step = { do: 'sweep' }
export const resume: Step = { do: 'resume' }
export const reconcile: Step = { do: 'reconcile' }
export const effects: Step = { do: 'effects' }
export const reconcileEffects: Step = { do: 'reconcile effects' }
export const state: Step = { do: 'state' }
