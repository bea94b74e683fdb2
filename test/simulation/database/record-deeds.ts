import type { CallMark } from '../../../src/engine/call-store.js'
import type { Claim, RecordName, StoredRecord } from '../../../src/engine/record.js'
import type { Completion } from '../../../src/engine/store.js'
import * as transitions from '../../../src/engine/transitions.js'
import type { Reservation } from '../../../src/engine/verdict.js'
import { invariant } from '../../../src/kernel/errors.js'
import type { Found } from '../../../src/stores/postgres/arguments.js'
import type { Inserted } from '../../../src/stores/postgres/record-table.js'
import { marking } from './call-deeds.js'
import { addressOf, type RecordRow } from './database.js'
import { fencedOn, refusableOn } from './fenced.js'
import { forgetRecord } from './forgetting.js'
import type { Line } from './line.js'
import { serverError } from './server-error.js'
import { type By, holderOf, put, seen, writerOf } from './table.js'
import { type Deed, update } from './update.js'

/** What the statements on one record do, by themselves or in a transaction. */
export function recordDeeds(line: Line, by: By) {
  const { database, now } = line
  const { records } = database.tables
  const written = (record: StoredRecord | undefined, judgedAt: number) =>
    record && { record, committedIn: by?.id, judgedAt }

  return {
    /**
     * INSERT … WHERE NOT EXISTS … ON CONFLICT DO NOTHING. What is committed when it begins it leaves alone, whoever is about to
     * change that. Where nothing was, it waits for whoever has written the same and has not ended, as often as there is one.
     */
    insert(reservation: Reservation): Deed<Inserted> {
      const address = addressOf(reservation)
      let hasWaited = false
      return {
        saw: () => (hasWaited ? 'nothing' : undefined),
        waitsFor() {
          if (!hasWaited && seen(records, address, by) !== undefined) return undefined
          const writer = writerOf(records, address, by)
          hasWaited ||= writer !== undefined
          return writer
        },
        run() {
          if (seen(records, address, by) !== undefined) return { kind: 'known', found: undefined }
          const id = database.newId('record')
          const { next } = transitions.reserve(undefined, reservation, now(), () => id)
          invariant(next, 'a key that is new can be taken')
          put(records, address, { record: next, committedIn: undefined, judgedAt: now() }, by)
          return { kind: 'new', id, now: now() }
        },
      }
    },
    /** INSERT of a record as it is, which waits for whoever has written the same. Fails when somebody else has the key. */
    create(name: RecordName, record: () => StoredRecord): Deed<RecordRow> {
      const address = addressOf(name)
      return {
        waitsFor: () => writerOf(records, address, by),
        run() {
          if (seen(records, address, by) !== undefined) throw serverError('23505', 'records_digest')
          const row = { record: record(), committedIn: by?.id, judgedAt: now() }
          put(records, address, row, by)
          return row
        },
      }
    },
    find(name: RecordName): Deed<Sought | undefined> {
      return {
        waitsFor: () => undefined,
        run() {
          const row = seen(records, addressOf(name), by)
          if (row === undefined) return undefined
          database.met.push(row.record)
          return { record: row.record, committedIn: row.committedIn, revision: '', now: now(), sought: name }
        },
      }
    },
    /** Only if the row is still the one that was read. */
    write(found: Found, next: () => StoredRecord, call?: CallMark): Deed<RecordRow | undefined> {
      const updating = update<string, RecordRow>(records, addressOf(found.record), by, ({ record }) =>
        record === found.record ? written(next(), found.now) : undefined,
      )
      const mark = marking(line, call, by)
      return fencedOn(line, soughtIn(found), by, {
        waitsFor: () => updating.waitsFor() ?? mark.waitsFor(),
        run() {
          const row = updating.run()
          if (row !== undefined) mark.run(row.record)
          return row
        },
      })
    },
    remove(found: Found): Deed<boolean> {
      const address = addressOf(found.record)
      const isSame = () => seen(records, address, by)?.record === found.record
      return fencedOn(line, soughtIn(found), by, {
        waitsFor: () => (isSame() ? holderOf(records, address, by) : undefined),
        run() {
          const isRemoved = isSame()
          if (!isRemoved) return false
          put(records, address, undefined, by)
          forgetRecord(line, found.record, 'stay')
          return true
        },
      })
    },
    renew(claim: Claim, leaseMs: number): Deed<RecordRow | undefined> {
      const renewing = update<string, RecordRow>(records, addressOf(claim), by, ({ record, committedIn }) => {
        const next = transitions.renew(record, claim, leaseMs, now())
        return next && { record: next, committedIn, judgedAt: now() }
      })
      return fencedOn(line, claim, by, renewing)
    },
    /** What is complete already is left to whoever judges. */
    complete(claim: Claim, completion: Completion): Deed<RecordRow | undefined> {
      const completing = update<string, RecordRow>(records, addressOf(claim), by, ({ record }) => {
        const next = transitions.complete(record, claim, completion, now())
        return next === record ? undefined : written(next, now())
      })
      return refusableOn(line, claim, by, fencedOn(line, claim, by, completing))
    },
  }
}

/** What was found, and under which name: a holder looks for what it holds by its claim. */
interface Sought extends Found {
  readonly sought: RecordName
}

function soughtIn(found: Found): RecordName {
  return (found as Sought).sought
}
