import type { Store } from '../../engine/store.js'
import { HapaxError, invariant } from '../../kernel/errors.js'
import { type Gate, gate } from './gate.js'

/** A real store that can be made to fail, or to keep an answer waiting before it is durable. */
export interface WaywardStore {
  readonly store: Store
  /** Every call of this step fails from now on, before it changes anything. */
  fail(step: FailingStep): void
  /** Holds the next `complete` back, or the next commit, before it changes anything, until the gate is opened. */
  holdComplete(): { readonly reached: Promise<void>; readonly gate: Gate }
  /** Everything goes well again. */
  mend(): void
}

/** A commit fails with `complete`: it is one, together with rows. */
type FailingStep = 'reserve' | 'complete'

export function waywardStore(inner: Store): WaywardStore {
  const failing = new Set<FailingStep>()
  let held: { readonly reached: Gate; readonly gate: Gate } | undefined

  const refuse = (step: FailingStep) => {
    if (failing.has(step)) throw new HapaxError('store_failed', 'the connection was refused')
  }

  const complete: Store['complete'] = async (claim, completion) => {
    const hold = held
    held = undefined
    hold?.reached.open()
    await hold?.gate.opened
    refuse('complete')
    return inner.complete(claim, completion)
  }

  return {
    store: {
      ...inner,
      async reserve(reservation) {
        refuse('reserve')
        return inner.reserve(reservation)
      },
      complete,
      // Without rows of its own, so that any store will do: a case wants to see which answer is told, not the database.
      async transaction(claim, body) {
        const { value, write } = await body(undefined as never)
        invariant(write.kind === 'complete', 'a commit completes')
        const completed = await complete(claim, write)
        if (completed === false) throw new HapaxError('claim_lost')
        return { value, expiresAt: completed.expiresAt }
      },
    },
    fail: (step) => void failing.add(step),
    holdComplete() {
      held = { reached: gate(), gate: gate() }
      return { reached: held.reached.opened, gate: held.gate }
    },
    mend: () => failing.clear(),
  }
}
