import type { EffectStore, StoredEffect } from '../../../src/engine/effect-store.js'
import * as transitions from '../../../src/engine/effect-transitions.js'
import { forgetEffects } from './forgetting.js'
import type { Line } from './line.js'
import { isWaiting } from './turns.js'
import { updateFree } from './update.js'

/** What the statements on many effects do. All of them skip what is locked. */
export function effectBatches(line: Line) {
  const { database, now } = line
  const { effects } = database.tables

  return {
    claim({ kinds, ids, limit, leaseMs }: Parameters<EffectStore<never>['claim']>[0]): readonly StoredEffect[] {
      const claimed = updateFree(effects, {
        to(effect) {
          if (!kinds.includes(effect.kind) || ids?.includes(effect.id) === false || isWaiting(line, effect, undefined))
            return undefined
          return transitions.claim(effect, leaseMs, now(), ids === undefined ? 'due' : 'named')
        },
        at: ({ id, leaseUntil, dueAt }) => (ids === undefined ? (leaseUntil ?? dueAt) : id),
        limit,
      })
      return claimed.toSorted((a, b) => a.dueAt - b.dueAt || a.id - b.id)
    },
    sweep: (limit: number) =>
      updateFree(effects, {
        to: (effect) => transitions.sweep(effect, now()),
        at: ({ leaseUntil = 0 }) => leaseUntil,
        limit,
      }),
    doubts: ({ kinds, limit, holdMs }: Parameters<EffectStore<never>['doubts']>[0]) =>
      updateFree(effects, {
        to: (effect) => (kinds.includes(effect.kind) ? transitions.takeDoubt(effect, holdMs, now()) : undefined),
        at: ({ reconcileAfter = 0 }) => reconcileAfter,
        limit,
      }),
    reap(limit: number, keepMs: number): number {
      const gone = updateFree(effects, {
        to: (effect) => transitions.reap(effect, keepMs, now()),
        at: ({ finishedAt = 0 }) => finishedAt,
        limit,
      })
      forgetEffects({ database }, gone)
      return gone.length
    },
  }
}
