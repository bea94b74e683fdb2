import { isFinal, type StoredEffect } from '../../../src/engine/effect-store.js'
import type { StoredRecord } from '../../../src/engine/record.js'
import { promised, services, timeoutMs } from '../application.js'
import { subjectIn } from '../effect-kinds.js'
import { demand } from '../violation.js'

/** How far apart the passes of every worker are, and the looks of the operator, once nothing goes wrong any more. */
export const passMs = 61_000

/** What is open, and how far the clocks of the database and of its nodes are apart: "not landed" waits for both. */
export interface OpenWork {
  readonly time: number
  readonly apartMs: number
  readonly records: readonly StoredRecord[]
  readonly effects: readonly StoredEffect[]
  /** Whether whoever did what is asked for under `tenant/key` can never say so. */
  readonly isUnsaid: (name: string) => boolean
}

/**
 * Nothing waits for longer than it has to: what nobody holds any more for its lease and a pass, what failed for its pause, and
 * what is in doubt until the provider shows what it did, and somebody has looked. Asked before each pass; time that is spent in
 * one state counts.
 */
export function patience(): { judge(open: OpenWork): void } {
  const known = new Map<string, { readonly as: string; readonly since: number }>()

  function waits(name: string, as: string, time: number, mostMs: number): void {
    const last = known.get(name)
    if (last?.as !== as) known.set(name, { as, since: time })
    else
      demand(
        time - last.since <= mostMs,
        () => `something is stuck: ${name} is ${as}, for ${(time - last.since) / 1_000} s`,
      )
  }

  return {
    judge({ time, apartMs, records, effects, isUnsaid }) {
      for (const record of records) {
        const { scope, key, generation, fence } = record
        waits(
          `${scope}/${key}#${generation}`,
          `${stateInWords(record)} under fence ${fence}`,
          time,
          record.state === 'unknown' && isUnsaid(`${scope}/${key}`) ? unsaidMs : mostOf(record, apartMs),
        )
      }
      for (const effect of effects) {
        const { id, state, fence } = effect
        if (isFinal(state) || state === 'dead' || effects.some((other) => mayHoldUp(other, effect))) continue
        const isLong = state === 'unknown' && isUnsaid(subjectIn(effect).replace(/#.*/, ''))
        const mostMs = isLong ? unsaidMs : mostOfEffect(effect, apartMs)
        waits(`effect ${id}`, `${stateInWords(effect)} under fence ${fence}`, time, mostMs)
      }
    },
  }
}

/** And why it is in it, where that is said. */
export function stateInWords({ state, errorCode }: Pick<StoredRecord | StoredEffect, 'state' | 'errorCode'>): string {
  return errorCode === undefined ? state : `${state} (${errorCode})`
}

function mostOf({ state, attempt, looks }: StoredRecord, apartMs: number): number {
  if (state === 'in_progress') return promised.leaseMs + passMs
  return state === 'unknown' ? lookedAtMs(looks, apartMs) : pauseMs(attempt) + 2 * passMs
}

function mostOfEffect({ state, started, looks }: StoredEffect, apartMs: number): number {
  if (state === 'leased') return promised.leaseMs + passMs
  return state === 'unknown' ? lookedAtMs(looks, apartMs) : pauseMs(started) + 2 * passMs
}

/** Until a call cannot land any more, and that shows; and the next look, behind the pause that the last one led to. */
function lookedAtMs(looks: number, apartMs: number): number {
  return timeoutMs + services.transfer.lagMs + apartMs + pauseMs(looks + 1) + 3 * passMs
}

/** Whoever can never say what he has done is asked for days, and then a person; who looks at him last may be paused. */
const unsaidMs = promised.doubtMs + 2 * 3_600_000

/** At most a second after the first time, and twice as long after each further one, up to an hour. */
export function pauseMs(times: number): number {
  return Math.min(3_600_000, 1_000 * 2 ** Math.max(0, times - 1))
}

/** An earlier one of its tenant may be of the same order. */
function mayHoldUp(other: StoredEffect, { scope, id }: StoredEffect): boolean {
  return other.scope === scope && other.id < id && !isFinal(other.state)
}
