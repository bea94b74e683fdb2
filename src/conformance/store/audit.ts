import assert from 'node:assert/strict'
import { verified } from '../../engine/audit-chain.js'
import type { Acted, AuditEntry, Deed } from '../../engine/audit-store.js'
import { subjectOfRecord } from '../../engine/deeds.js'
import { keyOf } from '../../engine/key.js'
import type { Claim } from '../../engine/record.js'
import { same } from '../expect.js'
import { claimed, completed, doubted, keys, leaseMs, retentionMs, settlement, tombstoneMs } from '../given.js'
import type { Show } from '../stage.js'

/** What people do is written down with what it did, in a chain that shows whatever was done to it. */
export const audit: Readonly<Record<string, Show>> = {
  'an empty log has no entries, and is whole': async ({ store, audit }) => {
    same(await audit(store).head(), { sequence: 0, hash: '' })
    same(await audit(store).list({ limit: 10 }), { entries: [], next: undefined })
    same((await verified(audit(store))).kind, 'whole')
  },

  'a settlement is written down with who, why, before and after, and is there when it is': async (stage) => {
    const { store, audit, startedAt } = stage
    const claim = await doubted(store)
    const acted = await audit(store).act(settles(claim), ann)
    const [entry, ...others] = entriesOf(acted)
    same(others, [])
    same((await store.find(claim))?.state, 'failed_retryable')
    same(entry?.who, 'operator:ann')
    same(entry?.why, 'seen in the dashboard')
    same(entry?.action, 'settle')
    same(entry?.at, startedAt)
    same(entry?.scope, claim.scope)
    same(entry?.subject, subjectOfRecord(claim))
    same(JSON.parse(entry?.before ?? '').state, 'unknown')
    same(JSON.parse(entry?.after ?? '').state, 'failed_retryable')
    same((await audit(store).list({ limit: 10 })).entries, [entry])
    same(await audit(store).head(), { sequence: 1, hash: entry?.hash })
  },

  'what somebody gave with his word is written down by its hash, and how it stood as operators are shown it': async (
    stage,
  ) => {
    const { store, audit, startedAt } = stage
    const claim = await doubted(store)
    const supplied = { what: 'result', sha256: 'ab', bytes: 12 } as const
    const [entry] = entriesOf(await audit(store).act({ ...settles(claim), supplied }, ann))
    const { before, after } = { before: JSON.parse(entry?.before ?? ''), after: JSON.parse(entry?.after ?? '') }
    same([before.supplied, after.supplied], [undefined, supplied])
    same(after.evidence.at(-1).at, new Date(startedAt).toISOString())
    for (const name of [...Object.keys(before), ...Object.keys(after)]) assert.match(name, /^[a-z_0-9]+$/)
  },

  'what is not in doubt is not settled, and nothing is written down': async ({ store, audit }) => {
    const [done, running, absent] = names
    const answered = await completed(store, { key: done })
    const held = await claimed(store, { key: running })
    same(await audit(store).act(settles(answered), ann), { kind: 'refused', why: 'state', state: 'completed' })
    same(await audit(store).act(settles(held), ann), { kind: 'refused', why: 'state', state: 'in_progress' })
    same(await audit(store).act(settles({ ...held, key: absent }), ann), { kind: 'refused', why: 'absent' })
    same((await audit(store).head()).sequence, 0)
  },

  'a doubt that was claimed again since is not settled by what was said of the claim before': async ({
    store,
    audit,
  }) => {
    const claim = await doubted(store)
    const deed = { ...settles(claim), settlement: { ...settlement({ kind: 'not_landed' }), fence: claim.fence + 1 } }
    same(await audit(store).act(deed, ann), { kind: 'refused', why: 'changed', state: 'unknown' })
    same((await store.find(claim))?.state, 'unknown')
  },

  'who reads the log may do to what he was given what he likes': async ({ store, audit }) => {
    const [entry] = entriesOf(await audit(store).act(settles(await doubted(store)), ann))
    assert.ok(entry)
    Object.assign(entry, { why: 'something else' })
    const [listed] = (await audit(store).list({ limit: 1 })).entries
    Object.assign(listed ?? {}, { who: 'operator:bob' })
    same((await verified(audit(store))).kind, 'whole')
  },

  'what is said too early is refused, with how long to wait': async ({ store, audit, startedAt, at }) => {
    const claim = await doubted(store)
    const deed = { ...settles(claim), notBefore: startedAt + leaseMs }
    same(await audit(store).act(deed, ann), {
      kind: 'refused',
      why: 'too_early',
      state: 'unknown',
      retryAfterMs: leaseMs,
    })
    await at(leaseMs)
    entriesOf(await audit(store).act(deed, ann))
  },

  'an answer that is purged is gone at once, and the key runs as new in the next generation': async ({
    store,
    audit,
  }) => {
    const claim = await completed(store)
    const [entry] = entriesOf(await audit(store).act({ kind: 'purge', name: claim, generation: 1 }, ann))
    same(JSON.parse(entry?.before ?? '').status, 201)
    const buried = await store.find(claim)
    same([buried?.state, buried?.answer], ['expired', undefined])
    const again = await claimed(store)
    same(again.generation, 2)
  },

  'a purge never touches what is unknown, in progress, or of another generation': async ({ store, audit }) => {
    const [first, second, third] = names
    const claims = [
      await doubted(store, { key: first }),
      await claimed(store, { key: second }),
      await completed(store, { key: third }),
    ]
    const generations = [1, 1, 2]
    for (const [index, name] of claims.entries()) {
      const before = await store.find(name)
      const acted = await audit(store).act({ kind: 'purge', name, generation: generations[index] ?? 1 }, ann)
      same(acted.kind, 'refused')
      same(await store.find(name), before)
    }
    same((await audit(store).head()).sequence, 0)
  },

  'a doubt can be made due, also one that was left to a person': async ({ store, audit, startedAt }) => {
    const claim = await doubted(store)
    assert.ok(await store.postpone(claim, { generation: 1, looks: 3, afterMs: undefined }))
    const plan = { generation: 1, fence: 1, state: 'unknown', looks: 3, afterMs: 0 } as const
    entriesOf(await audit(store).act({ kind: 'reconcile', name: claim, plan }, ann))
    same((await store.find(claim))?.reconcileAfter, startedAt)
  },

  'of twenty writers at once, on two nodes, each has its place in one chain': async ({ store, audit, open }) => {
    const other = await open()
    const claims = await Promise.all(keys(20).map((key) => doubted(store, { key })))
    const acted = await Promise.all(
      claims.map((claim, index) => audit(index % 2 === 0 ? store : other).act(settles(claim), ann)),
    )
    same(
      acted
        .flatMap(entriesOf)
        .map(({ sequence }) => sequence)
        .sort((a, b) => a - b),
      claims.map((_, index) => index + 1),
    )
    same((await verified(audit(other))).kind, 'whole')
  },

  'of two who settle the same doubt at once one does, and one is told so': async ({ store, audit, open }) => {
    const other = await open()
    const claim = await doubted(store)
    const acted = await Promise.all([store, other].map((node) => audit(node).act(settles(claim), ann)))
    same(acted.map(({ kind }) => kind).sort(), ['done', 'refused'])
    same((await audit(store).head()).sequence, 1)
  },

  'entries are paged in either order, and found by what they are about': async ({ store, audit }) => {
    const claims = await Promise.all(keys(5).map((key) => doubted(store, { key })))
    for (const claim of claims) entriesOf(await audit(store).act(settles(claim), ann))
    for (const order of ['oldest', 'newest'] as const) {
      const seen: number[] = []
      let after: string | undefined
      do {
        const page = await audit(store).list({ order, limit: 2, ...(after !== undefined && { after }) })
        seen.push(...page.entries.map(({ sequence }) => sequence))
        after = page.next
      } while (after !== undefined)
      same(seen, order === 'oldest' ? [1, 2, 3, 4, 5] : [5, 4, 3, 2, 1])
    }
    const [, second] = claims
    assert.ok(second)
    const about = await audit(store).list({ subject: subjectOfRecord(second), limit: 10 })
    same(
      about.entries.map(({ sequence }) => sequence),
      [2],
    )
  },

  'the log outlives what it is about': async ({ store, audit, at }) => {
    const claim = await completed(store)
    entriesOf(await audit(store).act({ kind: 'purge', name: claim, generation: 1 }, ann))
    await at(retentionMs + tombstoneMs + 1)
    same((await store.reap(10)).deleted, 1)
    same(await store.find(claim), undefined)
    same((await audit(store).list({ subject: subjectOfRecord(claim), limit: 10 })).entries.length, 1)
    same((await verified(audit(store))).kind, 'whole')
  },
}

const names = [keyOf('first'), keyOf('second'), keyOf('third')] as const

const ann = { who: 'operator:ann', why: 'seen in the dashboard' } as const

function settles(name: Pick<Claim, 'scope' | 'key'>): Extract<Deed, { kind: 'settle' }> {
  return { kind: 'settle', name, settlement: settlement({ kind: 'not_landed' }) }
}

function entriesOf(acted: Acted): readonly AuditEntry[] {
  if (acted.kind === 'refused') assert.fail(`refused: ${acted.why}`)
  return acted.entries
}
