import assert from 'node:assert/strict'
import type { EffectOutcome } from '../../engine/effect-store.js'
import { keyOf } from '../../engine/key.js'
import type { Reservation } from '../../engine/verdict.js'
import { same } from '../expect.js'
import {
  dead,
  done,
  effect,
  effectLeaseMs,
  found,
  namesOf,
  release,
  result,
  retry,
  settled,
  taken,
  takenOne,
  unknown,
  written,
  writtenBy,
} from '../given-effects.js'
import type { Show } from '../stage.js'

/** How a claim on an effect ends, and what a person does about the dead. */
export const effectSettlements: Readonly<Record<string, Show>> = {
  'an effect that is done keeps what the provider said, and is never claimed again': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    await stage.at(100)
    await settled(stage, claim, done)
    const { state, finished, finishedAt, leaseUntil, providerId, result: kept } = await found(stage, claim)
    same([state, finished, finishedAt, leaseUntil], ['done', 1, stage.startedAt + 100, undefined])
    same({ providerId, result: kept }, result)
    await stage.at(10 * effectLeaseMs)
    same(await taken(stage), [])
  },

  'a retry is claimed when its time has come, with the same downstream key': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    await settled(stage, claim, retry)
    const waiting = await found(stage, claim)
    same([waiting.state, waiting.errorCode, waiting.dueAt], ['ready', 'provider_busy', stage.startedAt + 1_000])
    await stage.at(999)
    same(await taken(stage), [])
    await stage.at(1_000)
    const again = await takenOne(stage)
    same([again.started, again.finished, again.downstreamKey], [2, 1, claim.downstreamKey])
    assert.equal(again.firstStartedAt, claim.firstStartedAt)
  },

  'an effect that is given back is as if it had not been claimed, save for its fence': async (stage) => {
    await written(stage, effect('a'))
    const [before] = (await stage.effects(stage.store).list({ limit: 1 })).effects
    await stage.at(100)
    const claim = await takenOne(stage)
    await settled(stage, claim, release)
    same(await found(stage, claim), { ...before, fence: 1 })
    const again = await takenOne(stage)
    same([again.started, again.finished, again.fence], [1, 0, 2])
  },

  'an effect whose call began is not given back': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    const effects = stage.effects(stage.store)
    await effects.begin(claim, effectLeaseMs)
    same(await effects.settle([{ claim, outcome: release }]), [false])
    same((await found(stage, claim)).state, 'leased')
  },

  'a dead effect keeps everything, and is claimed by nobody': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    await settled(stage, claim, dead)
    await stage.at(10 * effectLeaseMs)
    same(await taken(stage), [])
    const { state, errorCode, payload, started, finished } = await found(stage, claim)
    same([state, errorCode, payload, started, finished], ['dead', 'card_closed', claim.payload, 1, 1])
  },

  'many claims end in one step, each in its own way, and a stale one is told apart': async (stage) => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    await written(stage, ...names.map((name) => effect(name)))
    const claims = await taken(stage)
    const outcomes = [done, retry, unknown, dead, release, done]
    const settlements = claims.map((claim, index) => ({
      claim: index === 5 ? { ...claim, fence: 7 } : claim,
      outcome: outcomes[index] ?? done,
    }))
    same(await stage.effects(stage.store).settle(settlements), [true, true, true, true, true, false])
    const states = await Promise.all(claims.map(async (claim) => (await found(stage, claim)).state))
    same(states, ['done', 'ready', 'unknown', 'dead', 'ready', 'leased'])
    same(await stage.effects(stage.store).settle([]), [])
  },

  ...repeated({ done, retry, unknown, dead, release }),

  'a claim that ended in one way does not end in another': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    await settled(stage, claim, dead)
    const before = await found(stage, claim)
    for (const outcome of [done, retry, unknown, release])
      same(await stage.effects(stage.store).settle([{ claim, outcome }]), [false])
    same(await found(stage, claim), before)
  },

  'a dead effect that is redriven runs again with the same downstream key, its attempts counted anew': async (
    stage,
  ) => {
    await written(stage, effect('a'), effect('b'))
    const [a, b] = await taken(stage)
    assert.ok(a !== undefined && b !== undefined)
    await settled(stage, a, dead)
    const effects = stage.effects(stage.store)
    await stage.at(500)
    const [redriven, ...others] = await effects.redrive([a.id, b.id, a.id + 1_000])
    same(others, [])
    same(redriven, await found(stage, a))
    same([redriven?.state, redriven?.dueAt], ['ready', stage.startedAt + 500])
    const again = await takenOne(stage)
    same([again.started, again.finished, again.downstreamKey], [1, 0, a.downstreamKey])
    assert.equal(again.firstStartedAt, a.firstStartedAt)
  },

  'only a dead effect is discarded, and then it is final': async (stage) => {
    await written(stage, effect('a'), effect('b'))
    const [a, b] = await taken(stage)
    assert.ok(a !== undefined && b !== undefined)
    await settled(stage, a, dead)
    const effects = stage.effects(stage.store)
    await stage.at(500)
    same(namesOf(await effects.discard([a.id, b.id])), ['a'])
    const { state, finishedAt } = await found(stage, a)
    same([state, finishedAt], ['discarded', stage.startedAt + 500])
    same(await effects.redrive([a.id]), [])
  },

  'effects are listed by state and kind, each once, however they are paged': async (stage) => {
    const names = ['a', 'b', 'c', 'd', 'e']
    await written(stage, ...names.map((name) => effect(name)), effect('f', { kind: 'sms.send' }))
    for (const claim of await taken(stage, 3)) await settled(stage, claim, dead)
    const effects = stage.effects(stage.store)
    const first = await effects.list({ state: 'dead', limit: 2 })
    assert.ok(first.next !== undefined)
    const last = await effects.list({ state: 'dead', limit: 2, after: first.next })
    same([namesOf(first.effects), namesOf(last.effects), last.next], [['a', 'b'], ['c'], undefined])
    same(namesOf((await effects.list({ kind: 'sms.send', limit: 10 })).effects), ['f'])
    same(namesOf((await effects.list({ limit: 10 })).effects), [...names, 'f'])
  },

  'effects of a tenant are listed by its scopes, each once, and never those of a tenant whose name begins alike':
    async (stage) => {
      const scopes = ['acme', 'acme-2', 'acme;principal=u1', 'acme;principal=u2', 'acme2', 'ac']
      for (const [index, name] of scopes.flatMap((scope) => [`${scope} x`, `${scope} y`]).entries()) {
        const scope = name.slice(0, -2) as Reservation['scope']
        await writtenBy(stage, { scope, key: keyOf(`key-${index}`) }, [effect(name)])
      }
      const effects = stage.effects(stage.store)
      for (const state of ['ready', 'dead'] as const) {
        const seen: string[] = []
        let after: string | undefined
        do {
          const page = await effects.list({ tenant: 'acme', state, limit: 4, ...(after !== undefined && { after }) })
          seen.push(...namesOf(page.effects))
          after = page.next
        } while (after !== undefined)
        same(
          seen,
          ['acme', 'acme;principal=u1', 'acme;principal=u2'].flatMap((scope) => [`${scope} x`, `${scope} y`]),
        )
        same((await effects.list({ tenant: 'acme;', state, limit: 10 })).effects, [])
        for (const claim of await taken(stage, 2 * scopes.length)) await settled(stage, claim, dead)
      }
      same((await effects.list({ tenant: 'acme', kind: 'sms.send', limit: 10 })).effects, [])
    },
}

function repeated(outcomes: Readonly<Record<string, EffectOutcome>>): Readonly<Record<string, Show>> {
  const cases = Object.entries(outcomes).map(([name, outcome]): [string, Show] => [
    `a claim that ended as ${name} and says so again is answered as before, and nothing changes`,
    async (stage) => {
      await written(stage, effect('a'))
      const claim = await takenOne(stage)
      await settled(stage, claim, outcome)
      const before = await found(stage, claim)
      await stage.at(50)
      await settled(stage, claim, outcome)
      same(await found(stage, claim), before)
    },
  ])
  return Object.fromEntries(cases)
}
