import type { Clock } from '../kernel/clock.js'
import type { Emitter, EventName, Subject } from '../kernel/events.js'
import { adminBounds } from '../kernel/limits.js'
import { timeText } from './views.js'

/** How often the key of one record came back. */
export interface Tally {
  readonly replays: number
  readonly conflicts: number
  readonly mismatches: number
  readonly met_unknown: number
  /** Since when this process counts. */
  readonly since: string
}

/**
 * Counts what comes back, by record, in this process: a replay writes nothing, and shall not begin to for the sake of a
 * number. Of many records the ones that came back last are remembered.
 */
export interface Tallies {
  of(record: string): Tally
  stop(): void
}

const counted = {
  replayed: 'replays',
  shared: 'replays',
  met_in_progress: 'conflicts',
  mismatched: 'mismatches',
  met_unknown: 'met_unknown',
} as const satisfies Partial<Record<EventName, keyof Tally>>

type Counts = Record<(typeof counted)[keyof typeof counted], number>

export function tallies(events: Pick<Emitter, 'on'>, clock: Pick<Clock, 'now'>): Tallies {
  const since = timeText(clock.now())
  const known = new Map<string, Counts>()

  function count(what: keyof Counts, { record }: Pick<Subject, 'record'>): void {
    const counts = known.get(record) ?? { replays: 0, conflicts: 0, mismatches: 0, met_unknown: 0 }
    counts[what]++
    // What comes last is forgotten last.
    known.delete(record)
    known.set(record, counts)
    if (known.size > adminBounds.talliedRecords) known.delete(known.keys().next().value ?? '')
  }

  const names = Object.keys(counted) as (keyof typeof counted)[]
  const deaf = names.map((name) => events.on(name, (event: Subject) => count(counted[name], event)))
  return {
    of: (record) => ({ replays: 0, conflicts: 0, mismatches: 0, met_unknown: 0, ...known.get(record), since }),
    stop() {
      for (const stopHearing of deaf) stopHearing()
    },
  }
}
