import type { Store } from '../../engine/store.js'
import { HapaxError, invariant } from '../../kernel/errors.js'
import { type Gate, gate } from './gate.js'

/** A real store that can be made to fail, or to keep an answer waiting before it is durable. */
export interface WaywardStore {
  readonly store: Store
  /** Every call of this step fails from now on, before it changes anything. */
  fail(step: FailingStep): void
  /** Holds the next `complete` back, before it changes anything, until the gate is opened. */
  holdComplete(): Held
  /** The same with the next commit. What is completed beside it is not held back: that would be an answer too early. */
  holdCommit(): Held
  /** Everything goes well again. */
  mend(): void
}

type Completing = 'complete' | 'commit'

interface Held {
  readonly reached: Promise<void>
  readonly gate: Gate
}

/** A commit fails with `complete`: it is one, together with rows. */
type FailingStep = 'reserve' | 'complete'

export function waywardStore(inner: Store): WaywardStore {
  const failing = new Set<FailingStep>()
  const holds = new Map<Completing, { readonly reached: Gate; readonly gate: Gate }>()

  const refuse = (step: FailingStep) => {
    if (failing.has(step)) throw new HapaxError('store_failed', 'the connection was refused')
  }

  const completeBy = async (step: Completing, ...[claim, completion]: Parameters<Store['complete']>) => {
    const hold = holds.get(step)
    holds.delete(step)
    hold?.reached.open()
    await hold?.gate.opened
    refuse('complete')
    return inner.complete(claim, completion)
  }

  const holdBack = (step: Completing): Held => {
    const hold = { reached: gate(), gate: gate() }
    holds.set(step, hold)
    return { reached: hold.reached.opened, gate: hold.gate }
  }

  return {
    store: {
      ...inner,
      async reserve(reservation) {
        refuse('reserve')
        return inner.reserve(reservation)
      },
      complete: (claim, completion) => completeBy('complete', claim, completion),
      // Without rows of its own, so that any store will do: a case wants to see which answer is told, not the database.
      async transaction(claim, body) {
        const { value, write } = await body(undefined as never)
        invariant(write.kind === 'complete', 'a commit completes')
        const completed = await completeBy('commit', claim, write)
        if (completed === false) throw new HapaxError('claim_lost')
        return { value, expiresAt: completed.expiresAt }
      },
    },
    fail: (step) => void failing.add(step),
    holdComplete: () => holdBack('complete'),
    holdCommit: () => holdBack('commit'),
    mend: () => failing.clear(),
  }
}
