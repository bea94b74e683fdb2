import assert from 'node:assert/strict'
import type { Settlement } from '../../engine/store.js'
import { conditions } from '../conditions.js'
import { present, same, verdictOf } from '../expect.js'
import {
  checkpoint,
  claimed,
  completed,
  completion,
  doubted,
  failed,
  leaseMs,
  reason,
  reservation,
  retentionMs,
  settlement,
} from '../given.js'
import type { Show } from '../stage.js'
import { changesNothing } from '../stale.js'

/** The state in which nobody knows: who may end it, and how. */
export const doubt: Readonly<Record<string, Show>> = {
  'what was found out about one attempt neither settles nor postpones the doubt about a later one': async (stage) => {
    const { store } = stage
    const first = await doubted(store)
    const { fence } = first
    assert.ok(await store.settle(first, { ...settlement({ kind: 'not_landed' }), fence }))
    const again = await doubted(store)
    const before = await store.find(again)
    assert.equal(await store.settle(again, { ...settlement({ kind: 'not_landed' }), fence }), false)
    assert.equal(await store.postpone(again, { generation: 1, fence, looks: 9, afterMs: undefined }), false)
    same(await store.find(again), before)
    assert.ok(await store.settle(again, { ...settlement({ kind: 'not_landed' }), fence: again.fence }))
  },

  'who looked at a doubt does not put off what evidence has settled since': async ({ store }) => {
    const claim = await doubted(store)
    assert.ok(await store.settle(claim, settlement({ kind: 'not_landed' })))
    const before = await store.find(claim)
    const seen = { generation: 1, fence: claim.fence, state: 'unknown', looks: 1 } as const
    for (const afterMs of [undefined, 0, 60_000])
      assert.equal(await store.postpone(claim, { ...seen, afterMs, errorCode: 'looked_too_often' }), false)
    same(await store.find(claim), before)
  },

  'who looked at a doubt does not put off what was said about it since': async ({ store }) => {
    const claim = await doubted(store)
    const { generation, fence, reconcileAfter: dueAt } = present(await store.find(claim))
    // Whoever is told something about it makes it due.
    assert.ok(await store.postpone(claim, { generation, fence, looks: 0, afterMs: 0 }))
    const before = present(await store.find(claim))
    const seen = { generation, fence, state: 'unknown', looks: 1 } as const
    for (const afterMs of [undefined, 0, 60_000])
      assert.equal(await store.postpone(claim, { ...seen, dueAt, afterMs }), false)
    same(await store.find(claim), before)
    assert.ok(await store.postpone(claim, { ...seen, dueAt: before.reconcileAfter, afterMs: undefined }))
  },

  'a doubt that is left to a person keeps its reason, or is given another': async ({ store }) => {
    const claim = await doubted(store)
    const left = { generation: 1, fence: claim.fence, looks: 3, afterMs: undefined }
    assert.equal(await store.postpone(claim, left), true)
    const before = present(await store.find(claim))
    same([before.errorCode, before.looks, before.reconcileAfter], [reason.errorCode, 3, undefined])
    assert.equal(await store.postpone(claim, { ...left, errorCode: 'result_missing' }), true)
    same(await store.find(claim), { ...before, errorCode: 'result_missing' })
  },

  'a doubt keeps its reason and the time to look at it, and nobody holds it': async ({ store, at, startedAt }) => {
    const claim = await claimed(store)
    const before = present(await store.find(claim))
    await at(1_000)
    assert.equal(await store.doubt(claim, reason), true)
    same(await store.find(claim), {
      ...before,
      state: 'unknown',
      leaseUntil: undefined,
      errorCode: reason.errorCode,
      reconcileAfter: startedAt + 1_000 + reason.reconcileAfterMs,
      doubtedAt: startedAt + 1_000,
    })
  },

  'the last claim may complete a doubt that nobody has settled': async ({ store, at }) => {
    const claim = await doubted(store)
    await at(1_000)
    assert.ok(await store.complete(claim, completion('only slow')))
    const { answer, record } = verdictOf(await store.reserve(reservation()), 'completed')
    same(answer, completion('only slow').answer)
    same([record.errorCode, record.reconcileAfter, record.fence], [undefined, undefined, claim.fence])
  },

  'the last claim may complete what the sweeper found': async ({ store, at }) => {
    const claim = await claimed(store)
    await at(leaseMs)
    assert.equal((await store.sweep(10)).length, 1)
    assert.ok(await store.complete(claim, completion('only slow')))
    same(verdictOf(await store.reserve(reservation()), 'completed').answer, completion('only slow').answer)
  },

  'an earlier claim may not complete a doubt': async ({ store }) => {
    const earlier = await failed(store)
    const claim = await doubted(store)
    const before = await store.find(claim)
    assert.equal(await store.complete(earlier, completion()), false)
    same(await store.find(claim), before)
  },

  ...endsTheClaim('landed', { kind: 'landed', recoveryPoint: 'charge_created' }),
  ...endsTheClaim('not landed', { kind: 'not_landed' }),
  ...endsTheClaim('completed', { kind: 'completed', ...completion('from the provider') }),

  'evidence that it landed lets the next request go on behind the call': async ({ store, at, startedAt }) => {
    const claim = await claimed(store)
    await store.checkpoint(claim, checkpoint)
    await store.doubt(claim, reason)
    await at(1_000)
    const progress = Buffer.from('{"charge":8}')
    assert.equal(
      await store.settle(claim, settlement({ kind: 'landed', recoveryPoint: 'charge_created', progress })),
      true,
    )
    const settled = present(await store.find(claim))
    // It may go on at once, with or without its client.
    same([settled.state, settled.errorCode, settled.doubtedAt], ['failed_retryable', undefined, undefined])
    assert.equal(settled.reconcileAfter, startedAt + 1_000)
    assert.equal(settled.expiresAt, startedAt + 1_000 + retentionMs)
    const { record } = verdictOf(await store.reserve(reservation()), 'resumed')
    assert.equal(record.recoveryPoint, 'charge_created')
    same(record.progress, progress)
  },

  'evidence that it landed keeps what the phases left, unless it brings more': async ({ store }) => {
    const claim = await claimed(store)
    await store.checkpoint(claim, checkpoint)
    await store.doubt(claim, reason)
    await store.settle(claim, settlement({ kind: 'landed', recoveryPoint: 'charge_created' }))
    same(present(await store.find(claim)).progress, checkpoint.progress)
  },

  'evidence that it did not land lets the next request try again before the call': async ({ store }) => {
    const claim = await claimed(store)
    await store.checkpoint(claim, checkpoint)
    await store.doubt(claim, reason)
    assert.equal(await store.settle(claim, settlement({ kind: 'not_landed' })), true)
    const { record } = verdictOf(await store.reserve(reservation()), 'resumed')
    assert.equal(record.recoveryPoint, checkpoint.recoveryPoint)
    same(record.progress, checkpoint.progress)
  },

  'evidence with an answer is replayed from then on': async ({ store, at, startedAt }) => {
    const claim = await doubted(store)
    await at(1_000)
    const landed = completion('from the provider')
    assert.equal(await store.settle(claim, settlement({ kind: 'completed', ...landed })), true)
    const { answer, record } = verdictOf(await store.reserve(reservation()), 'completed')
    same(answer, landed.answer)
    same([record.completedAt, record.recoveryPoint], [startedAt + 1_000, 'finished'])
  },

  'evidence is kept, in the order in which it came, with its time and the doubt that it ended': async ({
    store,
    at,
    startedAt,
  }) => {
    const first = settlement({ kind: 'not_landed' })
    const second = settlement({ kind: 'completed', ...completion() })
    await store.settle(await doubted(store), first)
    const again = await doubted(store)
    await store.postpone(again, { generation: 1, looks: 3, afterMs: 0, errorCode: 'a "reason" of theirs' })
    await at(1_000)
    await store.settle(again, {
      ...second,
      evidence: { ...second.evidence, by: 'operator:ada', why: 'the bank called' },
    })
    same(present(await store.find(again)).evidence, [
      {
        ...{ says: 'not_landed', by: 'reconciler', why: 'the provider was asked', at: startedAt },
        doubt: { errorCode: reason.errorCode, at: startedAt, fence: 1, looks: 0 },
      },
      {
        ...{ says: 'completed', by: 'operator:ada', why: 'the bank called', at: startedAt + 1_000 },
        doubt: { errorCode: 'a "reason" of theirs', at: startedAt, fence: 2, looks: 3 },
      },
    ])
  },

  'settling restarts the retention, however late it comes': async ({ store, at }) => {
    const claim = await doubted(store)
    await at(10 * retentionMs)
    await store.settle(claim, settlement({ kind: 'completed', ...completion() }))
    await at(11 * retentionMs - 1)
    verdictOf(await store.reserve(reservation()), 'completed')
    await at(11 * retentionMs)
    verdictOf(await store.reserve(reservation()), 'reserved')
  },

  'of evidence that arrives together exactly one counts': async ({ store, open }) => {
    const other = await open()
    const claim = await doubted(store)
    const settled = await Promise.all([
      store.settle(claim, settlement({ kind: 'landed', recoveryPoint: 'charge_created' })),
      other.settle(claim, settlement({ kind: 'not_landed' })),
      store.settle(claim, settlement({ kind: 'completed', ...completion() })),
    ])
    assert.equal(settled.filter(Boolean).length, 1)
    assert.equal(present(await store.find(claim)).evidence.length, 1)
  },

  ...Object.fromEntries(
    Object.entries(conditions)
      .filter(([condition]) => condition !== 'unknown')
      .map(([condition, reach]): [string, Show] => [
        `a key that is ${condition} is not settled by evidence`,
        async (stage) => {
          const claim = await reach(stage)
          const before = present(await stage.store.find(claim))
          for (const outcome of outcomes) assert.equal(await stage.store.settle(claim, settlement(outcome)), false)
          same(await stage.store.find(claim), before)
        },
      ]),
  ),

  'a key that was never used is not settled by evidence': async ({ store }) => {
    for (const outcome of outcomes) assert.equal(await store.settle(reservation(), settlement(outcome)), false)
    assert.equal(await store.find(reservation()), undefined)
  },

  'a doubt of one generation is not settled by evidence about another': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs)
    const claim = await doubted(store)
    const before = await store.find(claim)
    assert.equal(await store.settle(claim, settlement({ kind: 'not_landed' }, 1)), false)
    assert.equal(await store.settle(claim, settlement({ kind: 'not_landed' }, 3)), false)
    same(await store.find(claim), before)
    assert.equal(await store.settle(claim, settlement({ kind: 'not_landed' }, 2)), true)
  },
}

const outcomes: readonly Settlement['outcome'][] = [
  { kind: 'landed', recoveryPoint: 'charge_created' },
  { kind: 'not_landed' },
  { kind: 'completed', ...completion('from the provider') },
]

function endsTheClaim(name: string, outcome: Settlement['outcome']): Readonly<Record<string, Show>> {
  return {
    [`the last claim can change nothing once its doubt was settled as ${name}`]: async ({ store }) => {
      const claim = await doubted(store)
      assert.ok(await store.settle(claim, settlement(outcome)))
      await changesNothing(store, claim)
    },
  }
}
