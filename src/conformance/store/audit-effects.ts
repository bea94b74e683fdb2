import assert from 'node:assert/strict'
import { verified } from '../../engine/audit-chain.js'
import type { Actor, ResolveDeed } from '../../engine/audit-store.js'
import { subjectOfEffect } from '../../engine/deeds.js'
import type { EffectClaim, StoredEffect } from '../../engine/effect-store.js'
import { keyOf } from '../../engine/key.js'
import { same } from '../expect.js'
import { completed } from '../given.js'
import { dead, effect, found, result, settled, takenOne, unknown, written, writtenBy } from '../given-effects.js'
import type { Show, Stage } from '../stage.js'

/** What people do to effects is written down with what it did, as with records. */
export const auditEffects: Readonly<Record<string, Show>> = {
  'a doubt about an effect that landed is settled with its result, kept as evidence, and written down': async (
    stage,
  ) => {
    const { store, audit, calls, startedAt } = stage
    const doubt = await inDoubt(stage)
    const acted = await audit(store).act(landed(doubt), ann)
    assert.ok(acted.kind === 'done')
    const [entry, ...others] = acted.entries
    same(others, [])
    const now = await found(stage, doubt)
    same([now.state, now.providerId, now.dueAt], ['ready', result.providerId, startedAt])
    same(Buffer.from(now.result ?? []).toString(), Buffer.from(result.result).toString())
    same([entry?.action, entry?.who, entry?.why], ['settle', ann.who, ann.why])
    same([entry?.scope, entry?.subject], [doubt.scope, subjectOfEffect(doubt.id)])
    same(JSON.parse(entry?.before ?? '').state, 'unknown')
    const after = JSON.parse(entry?.after ?? '')
    same([after.state, after.evidence.says, after.evidence.why], ['ready', 'landed', 'seen'])
    same(after.supplied, supplied)
    for (const name of Object.keys(after)) assert.match(name, /^[a-z_]+$/)
    const [said] = await calls(store).testimonies([doubt.downstreamKey])
    same([said?.says, said?.by, said?.why], ['landed', ann.who, 'seen'])
    same((await verified(audit(store))).kind, 'whole')
  },

  'a doubt about an effect that did not land is settled once nobody who was slow can act': async (stage) => {
    const { store, audit, calls, startedAt, at } = stage
    const doubt = await inDoubt(stage)
    const deed = { ...notLanded(doubt), notBefore: startedAt + 5_000 }
    same(await audit(store).act(deed, ann), {
      kind: 'refused',
      why: 'too_early',
      state: 'unknown',
      retryAfterMs: 5_000,
    })
    same([(await found(stage, doubt)).state, await calls(store).testimonies([doubt.downstreamKey])], ['unknown', []])
    await at(5_000)
    same((await audit(store).act(deed, ann)).kind, 'done')
    const now = await found(stage, doubt)
    same([now.state, now.result, now.firstStartedAt], ['ready', undefined, undefined])
  },

  'an effect that is not in doubt, not there, or claimed again since is not settled, and nothing is written down':
    async (stage) => {
      const { store, audit, calls, effects } = stage
      const doubt = await inDoubt(stage)
      const stale = { ...doubt, fence: doubt.fence - 1 }
      same(await audit(store).act(landed(stale), ann), { kind: 'refused', why: 'changed', state: 'unknown' })
      const absent = { ...doubt, id: doubt.id + 1_000 }
      same(await audit(store).act(landed(absent), ann), { kind: 'refused', why: 'absent' })
      assert.ok(await effects(store).resolve(doubt, { kind: 'not_landed' }))
      same(await audit(store).act(landed(doubt), ann), { kind: 'refused', why: 'state', state: 'ready' })
      same((await audit(store).head()).sequence, 0)
      same(await calls(store).testimonies([doubt.downstreamKey]), [])
    },

  'of two who settle the same doubt about an effect at once one does, and one is told so': async (stage) => {
    const { store, audit, open } = stage
    const other = await open()
    const doubt = await inDoubt(stage)
    const acted = await Promise.all([store, other].map((node) => audit(node).act(landed(doubt), ann)))
    same(acted.map(({ kind }) => kind).sort(), ['done', 'refused'])
    same((await audit(store).head()).sequence, 1)
  },

  'a doubt about an effect that somebody looks at is held for him, and written down; what is none is not': async (
    stage,
  ) => {
    const { store, audit, effects, startedAt } = stage
    const doubt = await inDoubt(stage)
    const look = ({ id, fence }: EffectClaim) => ({ kind: 'look', claim: { id, fence }, holdMs: 7_000 }) as const
    same(await audit(store).act(look({ ...doubt, fence: doubt.fence - 1 }), ann), {
      kind: 'refused',
      why: 'changed',
      state: 'unknown',
    })
    same(await audit(store).act(look({ ...doubt, id: doubt.id + 1_000 }), ann), { kind: 'refused', why: 'absent' })
    const acted = await audit(store).act(look(doubt), ann)
    assert.ok(acted.kind === 'done')
    const [entry] = acted.entries
    same([entry?.action, entry?.scope, entry?.subject], ['reconcile', doubt.scope, subjectOfEffect(doubt.id)])
    same(JSON.parse(entry?.after ?? '').looked_at_next, new Date(startedAt + 7_000).toISOString())
    const held = await found(stage, doubt)
    same([held.state, held.looks, held.reconcileAfter], ['unknown', doubt.looks, startedAt + 7_000])
    assert.ok(await effects(store).resolve(doubt, { kind: 'not_landed' }))
    same(await audit(store).act(look(doubt), ann), { kind: 'refused', why: 'state', state: 'ready' })
    same((await audit(store).head()).sequence, 1)
  },

  'each effect that is redriven or discarded has an entry of its own, and what is not dead has none': async (stage) => {
    const { store, audit } = stage
    await written(stage, effect('a'))
    const first = await takenOne(stage)
    await settled(stage, first, dead)
    const redriven = await audit(store).act({ kind: 'redrive', ids: [first.id, first.id + 1_000] }, ann)
    assert.ok(redriven.kind === 'done')
    same(
      redriven.entries.map(({ action, subject }) => `${action} ${subject}`),
      [`redrive ${subjectOfEffect(first.id)}`],
    )
    same(await audit(store).act({ kind: 'discard', ids: [first.id] }, ann), { kind: 'done', entries: [] })
    same((await found(stage, first)).state, 'ready')
  },

  'an answer whose effects are not final is not purged': async (stage) => {
    const { store, audit } = stage
    const claim = await writtenBy(stage, { key: keyOf('with-effects') }, [effect('a')])
    const acted = await audit(store).act({ kind: 'purge', name: claim, generation: 1 }, ann)
    same(acted, { kind: 'refused', why: 'effects_open', state: 'completed' })
    same((await store.find(claim))?.state, 'completed')
    const free = await completed(store, { key: keyOf('without') })
    same((await audit(store).act({ kind: 'purge', name: free, generation: 1 }, ann)).kind, 'done')
  },
}

const ann: Actor = { who: 'operator:ann', why: 'the customer asks' }

async function inDoubt(stage: Stage): Promise<StoredEffect> {
  await written(stage, effect('a'))
  const claim = await takenOne(stage)
  await settled(stage, claim, unknown)
  return found(stage, claim)
}

function landed(doubt: StoredEffect): ResolveDeed {
  return { ...deedOn(doubt, 'landed'), evidence: { kind: 'landed', ...result }, supplied }
}

const supplied = { what: 'result', sha256: 'ab', bytes: 12 } as const

function notLanded(doubt: StoredEffect): ResolveDeed {
  return { ...deedOn(doubt, 'not_landed'), evidence: { kind: 'not_landed' } }
}

function deedOn({ id, fence, downstreamKey }: StoredEffect, says: 'landed' | 'not_landed') {
  const said = { downstreamKey, says, by: ann.who, why: 'seen' } as const
  return { kind: 'resolve', claim: { id, fence }, said } as const
}
