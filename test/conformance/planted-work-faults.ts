import { type Store, systemChance } from 'hapax'
import type { SqliteTransaction } from 'hapax/sqlite'
import type { PlantedFault } from './planted-faults.js'

/** What a careless author might write of calls and of what waits for a worker, planted into the memory store. */
export const plantedWaitingFaults: readonly PlantedFault[] = [
  {
    fault: 'gives a doubt to everybody who asks',
    caughtBy: 'of nodes that look for doubts at once each doubt comes to one',
    plant: ({ doubts }) => ({ doubts: (query) => doubts({ ...query, holdMs: 0 }) }),
  },
  {
    fault: 'postpones without a look at the generation',
    caughtBy: 'nothing is postponed that is held, or over, or of another generation, or not there',
    plant: ({ find, postpone }) => ({
      async postpone(name, plan) {
        const { generation } = (await find(name)) ?? plan
        return postpone(name, { ...plan, generation })
      },
    }),
  },
  {
    fault: 'forgets what a person was left with',
    caughtBy: 'a doubt that is left to a person is never due, and evidence still ends it',
    plant: ({ postpone }) => ({ postpone: (name, plan) => postpone(name, { ...plan, afterMs: plan.afterMs ?? 0 }) }),
  },
  {
    fault: 'lets a stale claim mark a call',
    caughtBy: 'a claim that is stale marks no call',
    plant: ({ find, checkpoint }) => ({
      checkpoint: async (claim, step) =>
        checkpoint(step.call === undefined ? claim : ((await find(claim)) ?? claim), step),
    }),
  },
  {
    fault: 'drops what is said about a call that it does not know',
    caughtBy: 'what somebody says is kept, whatever the state of the record, and before there is a call',
    plant: (store) => {
      const calls = given(store, 'calls')
      return {
        calls: {
          ...calls,
          testify: async (said) => ((await calls.find(said.downstreamKey)) ? calls.testify(said) : undefined),
        },
      }
    },
  },
]

/** The same of what needs transactions, planted into the SQLite store. */
export const plantedWorkFaults: readonly PlantedFault<SqliteTransaction>[] = [
  {
    fault: 'reserves before the one transaction of a request',
    caughtBy: 'while its body runs nobody else sees a row or a record of it',
    plant: (store) => ({
      async single(reservation, body) {
        await store.reserve(reservation)
        return given(store, 'single')(reservation, body)
      },
    }),
  },
  {
    fault: 'keeps the rows of an answer without rows',
    caughtBy: 'an answer whose rows are undone is stored without them',
    plant: (store) => ({
      single: (reservation, body) =>
        given(store, 'single')(reservation, async (at) => ({ ...(await body(at)), rows: 'keep' })),
    }),
  },
  {
    fault: 'settles an effect for whoever asks',
    caughtBy: 'whoever lost the lease of an effect can change nothing of it',
    plant: (store) => {
      const effects = given(store, 'effects')
      return {
        effects: {
          ...effects,
          async settle(settlements) {
            const current = settlements.map(async ({ claim, outcome }) => {
              const { fence } = (await effects.find(claim.id)) ?? claim
              return { claim: { ...claim, fence }, outcome }
            })
            return effects.settle(await Promise.all(current))
          },
        },
      }
    },
  },
  {
    fault: 'takes every delivery for a new event',
    caughtBy: 'of twenty deliveries at once one is processed, and nineteen are duplicates',
    plant: (store) => ({
      inbox: {
        ...given(store, 'inbox'),
        receive: (event, body) => given(store, 'inbox').receive({ ...event, eventId: systemChance.id() }, body),
      },
    }),
  },
]

function given<Tx, K extends keyof Store<Tx>>(store: Store<Tx>, part: K): NonNullable<Store<Tx>[K]> {
  const found = store[part]
  if (found === undefined || found === null) throw new Error(`the good store has ${String(part)}`)
  return found
}
