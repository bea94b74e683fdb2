import type { EffectClaim, EffectStore, StoredEffect } from '../../../src/engine/effect-store.js'
import * as transitions from '../../../src/engine/effect-transitions.js'
import { boundedLimit } from '../../../src/engine/limit.js'
import { HapaxError } from '../../../src/kernel/errors.js'
import { limits } from '../../../src/kernel/limits.js'
import { inOneTransaction } from './committing.js'
import { copyOfEffect, ownOutcome, ownResult } from './copies.js'
import { effectBatches } from './effect-batches.js'
import { effectReads } from './effect-reads.js'
import { fencedOnEffect } from './fenced.js'
import type { Line } from './line.js'
import type { SimulatedTx } from './simulated-tx.js'
import { holderOf, seen } from './table.js'
import { endedOrders, simulatedTurns } from './turns.js'
import { type Deed, together, update } from './update.js'

/** The outbox: every method is one statement, save for what follows from an effect. */
export function simulatedEffects(line: Line): EffectStore<SimulatedTx> {
  const { now } = line
  const { effects } = line.database.tables
  const batches = effectBatches(line)
  const order = simulatedTurns(line)
  const most = (limit: number) => boundedLimit(limit, limits.batch)

  const one = (id: number, to: (current: StoredEffect) => StoredEffect | undefined) =>
    update(effects, id, undefined, to)
  const own = (claim: EffectClaim, to: (current: StoredEffect) => StoredEffect | undefined) =>
    fencedOnEffect(line, claim, undefined, one(claim.id, to))
  const changes = async (words: () => string, deed: Deed<StoredEffect | undefined>) =>
    (await line.ask(words, deed)) !== undefined
  const many = (words: () => string, deeds: readonly Deed<StoredEffect | undefined>[]) =>
    line.ask(words, together(deeds))
  const given = (words: () => string, run: () => readonly StoredEffect[]) =>
    line.ask(words, { run }).then((all) => all.map(copyOfEffect))

  return {
    async claim(query) {
      const claim = (limit: number) =>
        given(
          () => `takes up to ${limit} effects`,
          () => batches.claim({ ...query, limit }),
        )
      const limit = most(query.limit)
      return query.ids === undefined ? order.claimed(limit, claim) : claim(limit)
    },
    begin: (claim, leaseMs) =>
      changes(
        () => `begins effect ${claim.id}`,
        own(claim, (current) => transitions.begin(current, claim, leaseMs, now())),
      ),
    async renew(claims, leaseMs) {
      if (claims.length === 0) return []
      const renewed = await many(
        () => `renews effects ${claims.map(({ id }) => id)}`,
        claims.map((claim) => own(claim, (current) => transitions.renew(current, claim, leaseMs, now()))),
      )
      return renewed.map((effect) => effect !== undefined)
    },
    record(claim, result) {
      const mine = ownResult(result)
      return changes(
        () => `records what came of effect ${claim.id}`,
        own(claim, (current) => transitions.record(current, claim, mine)),
      )
    },
    async settle(settlements) {
      if (settlements.length === 0) return []
      const mine = settlements.map(({ claim, outcome }) => ({ claim, outcome: ownOutcome(outcome) }))
      const settling = together(
        mine.map(({ claim, outcome }) => own(claim, (current) => transitions.settle(current, claim, outcome, now()))),
      )
      const ids = mine.map(({ claim }) => claim.id)
      const { settled, orders } = await line.ask(
        () => `settles effects ${mine.map(({ claim, outcome }) => `${claim.id} as ${outcome.kind}`)}`,
        { ...settling, run: () => ({ settled: settling.run(), orders: endedOrders(line, ids, undefined) }) },
      )
      await order.tell(orders)
      return settled.map((effect) => effect !== undefined)
    },
    async apply(claim, result, body) {
      const orders = await inOneTransaction(
        line,
        () => `what follows from effect ${claim.id}`,
        async ({ transaction, said }) => {
          const outcome = ownOutcome({ kind: 'done', ...result })
          await said(body)
          // That it is done already is no error on its own, but here the rows of the application would commit twice.
          const finishing = update(effects, claim.id, transaction, (current) => {
            const next = transitions.settle(current, claim, outcome, now())
            return next === current ? undefined : next
          })
          const finished = await line.say(
            transaction,
            () => `finishes effect ${claim.id}`,
            fencedOnEffect(line, claim, transaction, finishing),
          )
          if (finished === undefined) throw new HapaxError('claim_lost')
          const orders = endedOrders(line, [claim.id], transaction)
          return { value: orders, isCommitted: () => isDone(claim.id, claim.fence) }
        },
      )
      await order.tell(orders)
    },

    sweep: async (limit) => {
      const bounded = most(limit)
      const swept = await given(
        () => `sweeps up to ${bounded} effects`,
        () => batches.sweep(bounded),
      )
      await order.look()
      return swept
    },
    async doubts({ kinds, limit, holdMs }) {
      const asked = { kinds, limit: most(limit), holdMs }
      return given(
        () => `takes up to ${asked.limit} doubts about effects`,
        () => batches.doubts(asked),
      )
    },
    postpone: (claim, plan) =>
      changes(
        () => `postpones effect ${claim.id}`,
        own(claim, (current) => transitions.postpone(current, claim, plan, now())),
      ),
    resolve(claim, evidence) {
      const mine = evidence.kind === 'landed' ? { kind: evidence.kind, ...ownResult(evidence) } : evidence
      return changes(
        () => `resolves effect ${claim.id} as ${evidence.kind}`,
        own(claim, (current) => transitions.resolve(current, claim, mine, now())),
      )
    },

    ...effectReads(line),
    redrive: async (ids, keyMemory) =>
      changedOf(
        await many(
          () => `redrives effects ${ids}`,
          ids.map((id) => one(id, (current) => transitions.redrive(current, keyMemory, now()))),
        ),
      ),
    async discard(ids) {
      const discarding = together(ids.map((id) => one(id, (current) => transitions.discard(current, now()))))
      const run = () => ({ discarded: changedOf(discarding.run()), orders: endedOrders(line, ids, undefined) })
      const { discarded, orders } = await line.ask(() => `discards effects ${ids}`, { ...discarding, run })
      await order.tell(orders)
      return discarded
    },
    async reap(limit, keepMs) {
      const bounded = most(limit)
      return line.ask(() => `reaps up to ${bounded} effects`, { run: () => batches.reap(bounded, keepMs) })
    },
  }

  /** Waits for a commit that is still under way. */
  function isDone(id: number, fence: number): Promise<boolean> {
    const looking: Deed<boolean> = {
      waitsFor: () => holderOf(effects, id, undefined),
      run() {
        const effect = seen(effects, id, undefined)
        return effect?.fence === fence && effect.state === 'done'
      },
    }
    return line.ask(() => `looks what became of effect ${id}`, looking, 'read')
  }
}

function changedOf(effects: readonly (StoredEffect | undefined)[]): readonly StoredEffect[] {
  return effects.flatMap((effect) => (effect === undefined ? [] : [copyOfEffect(effect)]))
}
