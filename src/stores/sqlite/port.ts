import type { Held } from './held-transaction.js'
import type { Ask, StepArguments, StepName, StepResult } from './protocol.js'

/** What the parts of the store are made of: steps that share their commits, and transactions that are held. */
export interface Port {
  stepOf<K extends StepName>(name: K): (...args: StepArguments<K>) => Promise<StepResult<K>>
  /** Waits for the lane, then holds a transaction: `body` runs in it, and what `body` gives back ends it. */
  hold<R>(body: Held<R>): Promise<R>
  readonly ask: Ask
}
