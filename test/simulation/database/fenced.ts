import type { EffectClaim } from '../../../src/engine/effect-store.js'
import type { Claim, RecordName } from '../../../src/engine/record.js'
import type { Reservation } from '../../../src/engine/verdict.js'
import { addressOf } from './database.js'
import type { Line } from './line.js'
import { type By, seen } from './table.js'
import type { Deed } from './update.js'

/** The same, and if anything is written, it is written down under which claim. */
export function fencedOn<T>(
  { database }: Line,
  name: RecordName | Reservation | Claim,
  by: By,
  deed: Deed<T>,
): Deed<T> {
  const asked = 'onNew' in name ? ({ of: 'reservation', reservation: name } as const) : undefined
  const held = 'fence' in name ? ({ of: 'record', claim: name } as const) : undefined
  const writer = asked ?? held
  if (writer === undefined) return deed
  return {
    waitsFor: deed.waitsFor,
    run() {
      const before = seen(database.tables.records, addressOf(name), by)?.record
      const written = deed.run()
      if (written) database.fencedWrites.push({ ...writer, before })
      return written
    },
  }
}

/** The same, and it is written down, too, if nothing is written. */
export function refusableOn<T>({ database }: Line, claim: Claim, by: By, { waitsFor, run }: Deed<T>): Deed<T> {
  return {
    waitsFor,
    run() {
      const before = seen(database.tables.records, addressOf(claim), by)?.record
      const written = run()
      if (!written) database.fencedWrites.push({ of: 'refusal', claim, before })
      return written
    },
  }
}

export function fencedOnEffect<T>({ database }: Line, claim: EffectClaim, by: By, deed: Deed<T>): Deed<T> {
  return {
    waitsFor: deed.waitsFor,
    run() {
      const before = seen(database.tables.effects, claim.id, by)
      const written = deed.run()
      if (written) database.fencedWrites.push({ of: 'effect', claim, before })
      return written
    },
  }
}
