import { HapaxError } from '../kernel/errors.js'
import type { CollectedEffects } from './collected-effects.js'
import type { Store } from './store.js'
import type { Phase } from './work.js'

/** A store whose phases are transactions. */
type Transactional<Tx> = Store<Tx> & { readonly transaction: NonNullable<Store<Tx>['transaction']> }

export function transactional<Tx>(store: Store<Tx>): Transactional<Tx> {
  if (store.transaction !== undefined) return store as Transactional<Tx>
  const message = `The ${store.name} store has no transactions; use one that has, or return the answer without work.commit and work.transaction.`
  throw new HapaxError('transaction_unsupported', message)
}

/** What the body of a phase is given. Its effects commit with this phase, or not at all, whatever is open when one is asked for. */
export function phaseOf<Tx>(tx: Tx, effects: CollectedEffects): Phase<Tx> {
  return { tx, effect: (kind, payload, options) => effects.add(kind, payload, options) }
}
