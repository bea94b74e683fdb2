import type { Reservation, Verdict } from '../../engine/verdict.js'
import { HapaxError, isHapaxError } from '../../kernel/errors.js'
import { type Database, runBatch } from './batch.js'
import { testified } from './calls/testified.js'
import { connect, makeDurable } from './connection.js'
import type { OpenDriver } from './driver.js'
import { settledEffect } from './effects/settled-effect.js'
import { glance } from './examine.js'
import { fencedWrite } from './fenced-write.js'
import type { Services, ThreadSettings } from './protocol.js'
import { prepareSchema } from './schema.js'
import { stepsAt } from './steps.js'
import { type Tables, tablesOn } from './tables.js'

/** What the thread does for its store. The database is opened by whatever is asked first, and anew once it was lost. */
export function sqliteServices(openDriver: OpenDriver, settings: ThreadSettings): Services {
  let { missing } = settings
  let database: Database | undefined

  const open = (): Database => {
    database ??= openDatabase(openDriver, { ...settings, missing })
    missing = 'lost'
    return database
  }

  /** For whatever may write outside of a transaction that is already held. */
  const present = (): Database => {
    const found = open()
    try {
      found.connection.ensurePresent()
      return found
    } catch (error) {
      database = undefined
      found.connection.close()
      throw error
    }
  }

  /** SQLite ends a transaction by itself when the disk is full: what follows must not be committed alone. */
  const held = (): Database => {
    if (database?.connection.inTransaction) return database
    throw new HapaxError('store_failed', 'The transaction is gone: the database rolled it back. Start it again.')
  }

  return {
    open: () => void present(),
    examine: () => glance(present().connection, settings.path),
    batch: (operations) => runBatch(present(), operations),
    query(statement) {
      const { connection } = present()
      const result = connection.run(statement)
      if (!connection.inTransaction) return result
      connection.exec('ROLLBACK')
      throw new HapaxError(
        'store_failed',
        'query() runs one statement on its own. Use transaction() to run several as one.',
      )
    },
    begin: () => present().connection.exec('BEGIN IMMEDIATE'),
    run(statement) {
      if (endsTransaction.test(statement.sql)) {
        throw new HapaxError(
          'store_failed',
          'The store commits and rolls back. Return from the body to commit, throw to roll back.',
        )
      }
      return held().connection.run(statement)
    },
    commit: (claim, write, effects) => ended(held(), (tables) => fencedWrite(tables, claim, write, effects)),
    commitEffect: (claim, result) => ended(held(), (tables) => settledEffect(tables, claim, result)),
    insertEvent(event) {
      const { records, events } = held()
      return events.insert(event, records.now())
    },
    commitEvent(testimonies) {
      const database = held()
      const now = database.records.now()
      for (const testimony of testimonies) testified(now, database, testimony)
      database.connection.exec('COMMIT')
    },
    take: (reservation) => taken(held(), reservation),
    commitSingle(claim, rows, completion, effects) {
      const database = held()
      if (rows === 'undo') database.connection.exec('ROLLBACK TO hapax_rows')
      const kept = rows === 'undo' ? [] : effects
      return ended(database, (tables) => fencedWrite(tables, claim, { kind: 'complete', ...completion }, kept))
    },
    rollback() {
      if (database?.connection.inTransaction) database.connection.exec('ROLLBACK')
    },
    close() {
      database?.connection.close()
      database = undefined
    },
  }
}

/** The last write of a transaction, then COMMIT; a write that was refused undoes all of it. */
function ended<R>(database: Database, write: (tables: Tables) => false | R): false | R {
  const written = write(database)
  database.connection.exec(written === false ? 'ROLLBACK' : 'COMMIT')
  return written
}

/** From here on there is something to undo, or the transaction is over. A judgement may have found a doubt, which stays. */
function taken(database: Database, reservation: Reservation): Verdict {
  const verdict = stepsAt(database.records.now(), database).reserve(reservation)
  database.connection.exec('claim' in verdict ? 'SAVEPOINT hapax_rows' : 'COMMIT')
  return verdict
}

/** Comments and blanks, then a keyword that would end the transaction; `ROLLBACK TO` only goes back to a savepoint. */
const endsTransaction =
  /^(?:\s|;|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:BEGIN|COMMIT|END|ROLLBACK(?!\s+(?:TRANSACTION\s+)?TO\b))\b/i

function openDatabase(openDriver: OpenDriver, settings: ThreadSettings): Database {
  const connection = connect(openDriver, settings)
  try {
    makeDurable(connection, settings.busyTimeoutMs)
    prepareSchema(connection, settings.path, settings.migrate)
    return { connection, ...tablesOn(connection) }
  } catch (error) {
    connection.close()
    throw named(settings.path, error)
  }
}

/** Who is told that a file is no database must be told which. */
function named(path: string, error: unknown): unknown {
  if (!isHapaxError(error) || error.message.includes(path)) return error
  return new HapaxError(error.code, `${path}: ${error.message}`, { cause: error.cause })
}
