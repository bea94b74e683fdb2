import type { SqliteStore, SqliteTransaction } from 'hapax/sqlite'
import type { PlantedFault } from './planted-faults.js'

/** What a careless author of a transactional store might write, planted into the SQLite store. */
export const plantedTransactionFaults: readonly PlantedFault<SqliteTransaction>[] = [
  {
    fault: 'commits without a look at the claim',
    caughtBy: 'a claim whose lease was taken over commits nothing in a transaction',
    plant: ({ find, transaction }) => ({
      transaction: async (claim, body) => transactional(transaction)((await find(claim)) ?? claim, body),
    }),
  },
  {
    fault: 'writes the record before the transaction begins',
    caughtBy: 'a transaction whose body throws leaves nothing, and throws the same',
    plant: ({ renew, transaction }) => ({
      async transaction(claim, body) {
        await renew(claim, 60_000)
        return transactional(transaction)(claim, body)
      },
    }),
  },
  {
    fault: 'lets errors of its driver through',
    caughtBy: 'a completion that was cut off can be repeated',
    plant: ({ complete }) => ({
      complete: (claim, completion) =>
        Promise.resolve(complete(claim, completion)).catch(({ message }: Error) => {
          throw new Error(message)
        }),
    }),
  },
  {
    fault: 'says that it worked though the connection was cut',
    caughtBy: 'a cut connection leaves each record as it was or as it was to be',
    plant: ({ complete }) => ({
      complete: (claim, completion) =>
        Promise.resolve(complete(claim, completion)).catch(() => ({ expiresAt: undefined })),
    }),
  },
]

function transactional(transaction: SqliteStore['transaction'] | undefined): SqliteStore['transaction'] {
  if (transaction === undefined) throw new Error('the SQLite store has transactions')
  return transaction
}
