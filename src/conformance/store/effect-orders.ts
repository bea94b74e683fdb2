import assert from 'node:assert/strict'
import type { StoredEffect } from '../../engine/effect-store.js'
import { keyOf } from '../../engine/key.js'
import { scopeOf } from '../../engine/scope.js'
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
import type { AnyStore, Show, Stage } from '../stage.js'

/** Effects that share an order run one after another, whatever becomes of them. */
export const effectOrders: Readonly<Record<string, Show>> = {
  'of effects that share an order one is claimed at a time, as they were written': async (stage) => {
    const steps = ['a', 'b', 'c'].map((name, index) => effect(name, { order: 'ride 7', sequence: index + 1 }))
    await writtenBy(stage, {}, steps)
    for (const name of ['a', 'b', 'c']) {
      const claims = await Promise.all([taken(stage), taken(stage, 100, await stage.open())])
      same(namesOf(claims.flat()), [name])
      await settled(stage, only(claims.flat()), done)
    }
  },

  'an order goes on across records, and an effect that is due later holds up those behind it': async (stage) => {
    await written(stage, effect('a', { order: 'ride 7', dueInMs: 1_000 }), effect('b', { order: 'ride 7' }))
    same(await taken(stage), [])
    await stage.at(1_000)
    same(namesOf(await taken(stage)), ['a'])
  },

  'effects of other orders and of none are not held up': async (stage) => {
    await written(
      stage,
      effect('a', { order: 'ride 7' }),
      effect('b', { order: 'ride 8' }),
      effect('c'),
      effect('d', { order: 'ride 7' }),
      effect('e'),
    )
    same(namesOf(await taken(stage)), ['a', 'b', 'c', 'e'])
  },

  'two scopes never share an order': async (stage) => {
    await writtenBy(stage, { scope: scopeOf('acme') }, [effect('a', { order: 'ride 7' })])
    await writtenBy(stage, { scope: scopeOf('globex'), key: keyOf('k') }, [effect('b', { order: 'ride 7' })])
    same(namesOf(await taken(stage)), ['a', 'b'])
  },

  'a retry holds up those behind it until it is done': async (stage) => {
    await pair(stage)
    await settled(stage, await takenOne(stage), retry)
    same(await taken(stage), [])
    await stage.at(1_000)
    same(namesOf(await taken(stage)), ['a'])
  },

  'an effect in doubt holds up those behind it until its doubt is resolved': async (stage) => {
    await pair(stage)
    const first = await takenOne(stage)
    await settled(stage, first, unknown)
    same(await taken(stage), [])
    await stage.effects(stage.store).resolve(first, { kind: 'not_landed' })
    same(namesOf(await taken(stage)), ['a'])
  },

  'a dead effect holds up those behind it until a person ends it': async (stage) => {
    await pair(stage)
    const first = await takenOne(stage)
    await settled(stage, first, dead)
    same(await taken(stage), [])
    same(namesOf(await stage.effects(stage.store).discard([first.id])), ['a'])
    same(namesOf(await taken(stage)), ['b'])
  },

  'an effect whose worker vanished holds up those behind it, and comes first': async (stage) => {
    await pair(stage)
    await takenOne(stage)
    await stage.at(effectLeaseMs)
    same(namesOf(await taken(stage)), ['a'])
  },

  'an effect that was given back is the first of its order again': async (stage) => {
    await pair(stage)
    await settled(stage, await takenOne(stage), release)
    same(namesOf(await taken(stage)), ['a'])
  },

  'whoever ends an effect, and however, lets the next of its order be had at once, on any node': async (stage) => {
    const other = await stage.open()
    await written(stage, ...['a', 'b', 'c', 'd'].map((name) => effect(name, { order: 'ride 7' })))
    const next = async () => only(await taken(stage, 100, other))
    await settled(stage, await takenOne(stage), done)
    const second = await next()
    await stage.effects(stage.store).apply(second, result, async () => undefined)
    const third = await next()
    await settled(stage, third, dead)
    same(await taken(stage, 100, other), [])
    await stage.effects(stage.store).discard([third.id])
    same(namesOf([await next()]), ['d'])
  },

  'a settlement whose reply was lost, and that is repeated, leaves the next of its order to be had': async (stage) => {
    await pair(stage)
    const first = await takenOne(stage)
    await settled(stage, first, done)
    await settled(stage, first, done)
    same(namesOf(await taken(stage)), ['b'])
  },

  'of orders that are written to and worked on at once, on two nodes, none is forgotten and none runs too early':
    async (stage) => {
      const other = await stage.open()
      const orders = ['ride 7', 'ride 8', 'ride 9']
      const names = Array.from({ length: 10 }, (_, index) => index)
      let writing = orders.length
      const writers = orders.map(async (order) => {
        for (const name of names) await written(stage, effect(`${order} ${name}`, { order }))
        writing--
      })
      const ran: number[] = []
      const workers = [stage.store, other].map((store) =>
        worked(
          stage,
          store,
          () => writing === 0,
          (id) => ran.push(id),
        ),
      )
      await Promise.all([...writers, ...workers])
      same(ran.length, orders.length * names.length)
      const effects = await Promise.all(ran.map((id) => found(stage, { id })))
      for (const order of orders) {
        const ofOrder = effects.filter((effect) => effect.order === order)
        same(
          namesOf(ofOrder),
          names.map((name) => `${order} ${name}`),
        )
      }
    },

  'writers to one order at once leave effects that run one after another': async (stage) => {
    const names = Array.from({ length: 8 }, (_, index) => `${index}`)
    await Promise.all(names.map((name) => written(stage, effect(name, { order: 'ride 7' }))))
    const ran: number[] = []
    for (const _ of names) {
      const { id, ...claim } = await takenOne(stage)
      ran.push(id)
      await settled(stage, { id, ...claim }, done)
    }
    same(
      ran,
      ran.toSorted((a, b) => a - b),
    )
  },
}

/** Carries out what there is on one node, until there is nothing and nobody writes any more. */
async function worked(stage: Stage, store: AnyStore, isOver: () => boolean, ran: (id: number) => void): Promise<void> {
  for (;;) {
    const isLast = isOver()
    const claims = await taken(stage, 2, store)
    if (claims.length === 0 && isLast) return
    for (const { id, fence } of claims) {
      ran(id)
      same(await stage.effects(store).settle([{ claim: { id, fence }, outcome: done }]), [true])
    }
  }
}

/** Two effects of one order. */
async function pair(stage: Stage): Promise<void> {
  await written(stage, effect('a', { order: 'ride 7' }), effect('b', { order: 'ride 7' }))
}

function only([first, ...others]: readonly StoredEffect[]): StoredEffect {
  assert.ok(first !== undefined && others.length === 0)
  return first
}
