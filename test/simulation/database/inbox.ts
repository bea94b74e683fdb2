import type { InboxStore, Receipt, ReceivedEvent, Testimony } from '../../../src/engine/inbox-store.js'
import { boundedLimit } from '../../../src/engine/limit.js'
import { reapEvent } from '../../../src/engine/reaped-event.js'
import { limits } from '../../../src/kernel/limits.js'
import type { Ending } from '../../../src/stores/postgres/in-one-commit.js'
import { testifying } from './call-deeds.js'
import { inOneTransaction } from './committing.js'
import { ownTestimony } from './copies.js'
import type { Line } from './line.js'
import type { SimulatedTx } from './simulated-tx.js'
import { put, seen, writerOf } from './table.js'
import { updateFree } from './update.js'

/** The inbox. A COMMIT whose reply was lost is an error: the provider delivers again. */
export function simulatedInbox(line: Line): InboxStore<SimulatedTx> {
  const { events } = line.database.tables
  return {
    receive: <T>(event: ReceivedEvent, body: (tx: SimulatedTx) => Promise<Said<T>>) => {
      const { provider, eventId } = event
      const named = () => `event ${provider}/${eventId}`
      return inOneTransaction<Receipt<T>>(line, named, async ({ transaction, said }): Promise<Ending<Receipt<T>>> => {
        const address = `${provider}\n${eventId}`
        const isNew = await line.say(transaction, () => `inserts ${named()}`, {
          waitsFor: () => writerOf(events, address, transaction),
          run() {
            if (seen(events, address, transaction) !== undefined) return false
            put(events, address, { provider, eventId, processedAt: line.now() }, transaction)
            return true
          },
        })
        if (!isNew) return { value: { kind: 'duplicate' } }
        const { value, testimonies } = await said(body)
        if (testimonies.length > 0) {
          const words = () => `testifies with ${named()}`
          await line.say(transaction, words, testifying(line, testimonies.map(ownTestimony), transaction))
        }
        return { value: { kind: 'processed', value } }
      })
    },
    async reap(limit, keepMs) {
      const bounded = boundedLimit(limit, limits.batch)
      const gone = await line.ask(() => `forgets up to ${bounded} events`, {
        run: () =>
          updateFree(events, {
            to: (event) => reapEvent(event, keepMs, line.now()),
            at: ({ processedAt }) => processedAt,
            limit: bounded,
          }).length,
      })
      return gone
    },
  }
}

interface Said<T> {
  readonly value: T
  readonly testimonies: readonly Testimony[]
}
