import type { EffectStore } from '../../../engine/effect-store.js'
import { HapaxError } from '../../../kernel/errors.js'
import type { Port } from '../port.js'
import type { SqliteTransaction } from '../statement.js'

/** The outbox of one file. What is a step shares its fsync with others; what follows from an effect is a held transaction. */
export function sqliteEffects({ stepOf, hold, ask }: Port): EffectStore<SqliteTransaction> {
  return {
    claim: stepOf('effects.claim'),
    begin: stepOf('effects.begin'),
    renew: stepOf('effects.renew'),
    record: stepOf('effects.record'),
    settle: stepOf('effects.settle'),
    apply: (claim, result, body) =>
      hold(async (tx) => {
        await body(tx)
        return async () => {
          if (!(await ask('commitEffect', claim, result))) throw new HapaxError('claim_lost')
        }
      }),
    sweep: stepOf('effects.sweep'),
    doubts: stepOf('effects.doubts'),
    postpone: stepOf('effects.postpone'),
    resolve: stepOf('effects.resolve'),
    find: stepOf('effects.find'),
    findByKey: stepOf('effects.findByKey'),
    list: stepOf('effects.list'),
    done: stepOf('effects.done'),
    named: stepOf('effects.named'),
    redrive: stepOf('effects.redrive'),
    discard: stepOf('effects.discard'),
    reap: stepOf('effects.reap'),
  }
}
