import { boundedLimit } from '../../engine/limit.js'
import type { Measured } from '../../engine/measured.js'
import type { Reaped } from '../../engine/store.js'
import { invariant } from '../../kernel/errors.js'
import { telemetryBounds } from '../../kernel/limits.js'
import type { Query, Row } from './connections.js'
import { type Execute, everyScope } from './executor.js'

export function measuring(query: Query, execute: Execute): (atMost: number) => Promise<Measured> {
  return async (atMost) => {
    const most = boundedLimit(atMost, telemetryBounds.countedRows)
    const [row] = await execute(everyScope, query, [most])
    invariant(row, 'a count gives one row')
    return measuredIn(row, most)
  }
}

/** The same of what a reaping would find. */
export function countingReapable(query: Query, execute: Execute): (atMost: number) => Promise<Reaped> {
  return async (atMost) => {
    const [row] = await execute(everyScope, query, [boundedLimit(atMost, telemetryBounds.countedRows)])
    invariant(row, 'a count gives one row')
    return { buried: Number(row.buried), deleted: Number(row.deleted) }
  }
}

function measuredIn(row: Row, most: number): Measured {
  const now = Number(row.now)
  const upTo = (count: Row[string] | undefined) => Math.min(Number(count), most)
  const ageOf = (since: Row[string] | undefined) => (since == null ? 0 : Math.max(0, now - Number(since)))
  return {
    // Not bounded: it may be an estimate.
    keys: Number(row.keys),
    inProgress: { count: upTo(row.running), oldestMs: ageOf(row.running_since) },
    unknown: {
      count: upTo(row.unknown),
      oldestMs: ageOf(row.unknown_since),
      leftToOperator: Number(row.unknown_left),
    },
    effects: {
      waiting: upTo(row.waiting),
      lagMs: ageOf(row.claimable_at),
      unknown: {
        count: upTo(row.effects_unknown),
        oldestMs: ageOf(row.effects_unknown_since),
        leftToOperator: Number(row.effects_unknown_left),
      },
      dead: Number(row.dead),
    },
  }
}
