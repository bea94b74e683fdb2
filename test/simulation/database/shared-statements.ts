import type { Reservation } from '../../../src/engine/verdict.js'
import type { Found } from '../../../src/stores/postgres/arguments.js'
import type { RecordBatches } from '../../../src/stores/postgres/batching-table.js'
import type { Inserted } from '../../../src/stores/postgres/record-table.js'
import { addressOf } from './database.js'
import type { Line, Words } from './line.js'
import { recordDeeds } from './record-deeds.js'
import { named } from './record-table.js'
import { holderOf } from './table.js'
import { type Deed, together } from './update.js'

export interface WhenShared {
  /** Called for each statement with several records that is sent, with how many of its kind are under way then. */
  readonly onShared?: (underWay: number) => void
}

/** The statements on many records at once. Only an insert waits for anybody; what is locked is left to be changed alone. */
export function simulatedBatches(line: Line, { onShared }: WhenShared = {}): RecordBatches {
  const deeds = recordDeeds(line, undefined)
  const { records } = line.database.tables
  const underWay = { insert: 0, find: 0, renew: 0, complete: 0 }

  async function ask<T>(kind: keyof typeof underWay, words: Words, deed: Deed<T>): Promise<T> {
    onShared?.(++underWay[kind])
    try {
      return await line.ask(words, deed, kind === 'find' ? 'read' : undefined)
    } finally {
      underWay[kind]--
    }
  }

  /** It tells of what was committed when it began, as that was then. Of what came while it waited it knows nothing. */
  function inserting(reservations: readonly Reservation[]): Deed<readonly (Inserted | undefined)[]> {
    const finds = together(reservations.map(deeds.find))
    const inserts = reservations.map(deeds.insert)
    let known: readonly (Found | undefined)[] | undefined
    const unknown = () => inserts.filter((_, index) => known?.[index] === undefined)
    return {
      saw: () => known,
      waitsFor() {
        const blocker = together(unknown()).waitsFor()
        if (blocker !== undefined) known ??= finds.run()
        return blocker
      },
      run() {
        const told = known ?? finds.run()
        return inserts.map((insert, index) => {
          const found = told[index]
          if (found !== undefined) return { kind: 'known', found }
          const inserted = insert.run()
          return inserted.kind === 'new' ? inserted : undefined
        })
      },
    }
  }

  const free = <T>(deed: Deed<T>, name: Parameters<typeof addressOf>[0]): Deed<T | undefined> => ({
    waitsFor: () => undefined,
    run: () => (holderOf(records, addressOf(name), undefined) === undefined ? deed.run() : undefined),
  })

  return {
    insert: (reservations) =>
      ask('insert', () => `reserves ${reservations.map(named).join(' and ')}`, inserting(reservations)),
    find: (names) => ask('find', () => `reads ${names.map(named).join(' and ')}`, together(names.map(deeds.find))),
    async renew(renewals) {
      const words = () => `renews ${renewals.map(({ claim }) => named(claim)).join(' and ')}`
      const deed = together(renewals.map(({ claim, leaseMs }) => free(deeds.renew(claim, leaseMs), claim)))
      return (await ask('renew', words, deed)).map((row) => (row === undefined ? undefined : true))
    },
    async complete(completions) {
      const words = () => `completes ${completions.map(({ claim }) => named(claim)).join(' and ')}`
      const deed = together(completions.map(({ claim, completion }) => free(deeds.complete(claim, completion), claim)))
      const rows = await ask('complete', words, deed)
      return rows.map((row) => row && { expiresAt: row.record.expiresAt, committedIn: row.committedIn ?? '' })
    },
  }
}
