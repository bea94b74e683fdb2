import type { DatabaseStore } from '../../engine/store.js'
import { HapaxError } from '../../kernel/errors.js'
import type { Port } from './port.js'
import type { SqliteTransaction } from './statement.js'

/** A transaction that ends with the fenced write of its record, and the effects that commit with it. */
export function transactionOn({ hold, ask }: Port): DatabaseStore<SqliteTransaction>['transaction'] {
  return (claim, body) =>
    hold(async (tx) => {
      const { value, write, effects = [] } = await body(tx)
      return async () => {
        const written = await ask('commit', claim, write, effects)
        if (written === false) throw new HapaxError('claim_lost')
        return { value, expiresAt: written.expiresAt }
      }
    })
}
