import type { StoredEffect } from '../../../engine/effect-store.js'
import * as transitions from '../../../engine/effect-transitions.js'
import { boundedLimit } from '../../../engine/limit.js'
import { effectPlace } from '../../../engine/listing.js'
import { limits } from '../../../kernel/limits.js'
import type { EffectSteps } from '../protocol.js'
import type { Tables } from '../tables.js'

/** Every step of the outbox, inside one transaction and at one instant: read the effect, ask the transition, write it. */
export function effectStepsAt(now: number, { effects, calls }: Pick<Tables, 'effects' | 'calls'>): EffectSteps {
  const write = (current: StoredEffect | undefined, next: StoredEffect | undefined): next is StoredEffect => {
    if (current === undefined || next === undefined) return false
    effects.write(current, next)
    return true
  }

  /** Changes one by its id. */
  const change = (id: number, to: (current: StoredEffect | undefined) => StoredEffect | undefined) => {
    const current = effects.find(id)
    const next = to(current)
    return write(current, next) ? next : undefined
  }
  const changes = (id: number, to: Parameters<typeof change>[1]) => change(id, to) !== undefined

  /** Changes those that were found, and gives what they are now. */
  const changeAll = (found: readonly StoredEffect[], to: (current: StoredEffect) => StoredEffect | undefined) =>
    found.flatMap((current) => {
      const next = to(current)
      return write(current, next) ? [next] : []
    })

  return {
    'effects.claim'({ kinds, ids, limit, leaseMs }) {
      const found = effects.claimable(kinds, ids, now, boundedLimit(limit, limits.batch))
      const when = ids === undefined ? 'due' : 'named'
      return changeAll(found, (current) => transitions.claim(current, leaseMs, now, when))
    },
    'effects.begin': (claim, leaseMs) =>
      changes(claim.id, (current) => transitions.begin(current, claim, leaseMs, now)),
    'effects.renew': (claims, leaseMs) =>
      claims.map((claim) => changes(claim.id, (current) => transitions.renew(current, claim, leaseMs, now))),
    'effects.record': (claim, result) => changes(claim.id, (current) => transitions.record(current, claim, result)),
    'effects.settle': (settlements) =>
      settlements.map(({ claim, outcome }) =>
        changes(claim.id, (current) => transitions.settle(current, claim, outcome, now)),
      ),
    'effects.sweep': (limit) =>
      changeAll(effects.overdue(now, boundedLimit(limit, limits.batch)), (current) => transitions.sweep(current, now)),
    'effects.doubts': ({ kinds, limit, holdMs }) =>
      changeAll(effects.doubts(kinds, now, boundedLimit(limit, limits.batch)), (current) =>
        transitions.takeDoubt(current, holdMs, now),
      ),
    'effects.postpone': (seen, plan) => changes(seen.id, (current) => transitions.postpone(current, seen, plan, now)),
    'effects.resolve': (seen, evidence) =>
      changes(seen.id, (current) => transitions.resolve(current, seen, evidence, now)),
    'effects.find': (id) => effects.find(id),
    'effects.findByKey': (downstreamKey) => effects.findByKey(downstreamKey),
    'effects.list'(query) {
      const size = boundedLimit(query.limit, limits.page)
      const found = effects.list({ ...query, limit: size + 1 })
      const page = found.slice(0, size)
      const last = found.length > size ? page.at(-1) : undefined
      return { effects: page, next: last && effectPlace(last, query) }
    },
    'effects.redrive': (ids, keyMemory) =>
      ids.flatMap((id) => change(id, (current) => transitions.redrive(current, keyMemory, now)) ?? []),
    'effects.discard': (ids) => ids.flatMap((id) => change(id, (current) => transitions.discard(current, now)) ?? []),
    'effects.done'({ since, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const [at = since, id = 0] = after?.split(' ').map(Number) ?? []
      const found = effects.done(at, id, size + 1)
      const page = found.slice(0, size)
      const last = page.at(-1)
      return { effects: page, next: found.length > size ? `${last?.finishedAt} ${last?.id}` : undefined }
    },
    'effects.named': (downstreamKeys) => effects.named(downstreamKeys),
    'effects.reap'(limit, keepMs) {
      const gone = effects.removeFinal(now - keepMs, boundedLimit(limit, limits.batch))
      calls.removeTestimonies(gone)
      return gone.length
    },
  }
}
