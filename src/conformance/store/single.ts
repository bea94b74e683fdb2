import assert from 'node:assert/strict'
import type { SingleOutcome, SingleStep } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { isHapaxError } from '../../kernel/errors.js'
import { present, same, verdictOf } from '../expect.js'
import {
  anotherRequest,
  claimed,
  completed,
  completion,
  doubted,
  failed,
  keys,
  leaseMs,
  reservation,
  retentionMs,
} from '../given.js'
import { effect, namesOf, taken } from '../given-effects.js'
import type { AnyStore, Show, Stage } from '../stage.js'

/** One request as one transaction: all of it, or nothing that anybody could find. */
export const single: Readonly<Record<string, Show>> = {
  'one transaction shows its row and its answer together': async (stage) => {
    const { store, startedAt } = stage
    const expiresAt = startedAt + retentionMs
    same(await once(stage, reservation()), { kind: 'committed', value: 'the value', expiresAt })
    assert.equal(await stage.countRows(), 1)
    const { answer, record } = verdictOf(await (await stage.open()).reserve(reservation()), 'completed')
    same(answer, completion().answer)
    same([record.generation, record.fence, record.attempt], [1, 1, 1])
    same([record.completedAt, record.expiresAt, record.leaseUntil], [startedAt, expiresAt, undefined])
    const verdict = { kind: 'completed', answer, record, expiresInMs: retentionMs }
    same(await once(stage, reservation()), { kind: 'judged', verdict })
    assert.equal(await stage.countRows(), 1)
    same(await store.find(record), record)
  },

  'its body is given the claim and the record as they would be': async (stage) => {
    const asked = reservation({ progress: Buffer.from('{"input":1}') })
    const outcome = await stage.single(stage.store)(asked, async ({ claim, record }) => {
      const { scope, key, claimId } = asked
      same(claim, { scope, key, claimId, generation: 1, fence: 1 })
      same([record.state, record.attempt, record.progress], ['in_progress', 1, asked.progress])
      return keeping
    })
    assert.equal(outcome.kind, 'committed')
  },

  'while its body runs nobody else sees a row or a record of it': async (stage) => {
    const other = await stage.open()
    await stage.single(stage.store)(reservation(), async ({ tx }) => {
      await stage.insert(tx, 'not yet')
      assert.equal(await stage.countRows(), 0)
      assert.equal(await other.find(reservation()), undefined)
      same((await other.list({ limit: 10 })).records, [])
      return keeping
    })
    assert.equal(await stage.countRows(), 1)
    assert.equal(present(await other.find(reservation())).state, 'completed')
  },

  'a body that throws leaves nothing, throws the same, and the next request runs': async (stage) => {
    const error = new Error('the handler gave up')
    const thrown = await stage
      .single(stage.store)(reservation(), async ({ tx }) => {
        await stage.insert(tx, 'in vain')
        throw error
      })
      .catch((reason: unknown) => reason)
    assert.equal(thrown, error)
    assert.equal(await stage.countRows(), 0)
    assert.equal(await stage.store.find(reservation()), undefined)
    assert.equal((await once(stage, reservation())).kind, 'committed')
    assert.equal(await stage.countRows(), 1)
  },

  'an answer whose rows are undone is stored without them': async (stage) => {
    const refused = completion('card declined')
    const undoing = { value: 'declined', rows: 'undo', completion: refused } as const
    assert.equal((await once(stage, reservation(), undoing)).kind, 'committed')
    assert.equal(await stage.countRows(), 0)
    same(verdictOf(await stage.store.reserve(reservation()), 'completed').answer, refused.answer)
  },

  'a duplicate that comes at the same time never runs the body again': async (stage) => {
    const nodes = [stage.store, await stage.open()]
    let ran = 0
    const attempt = (store: AnyStore) =>
      stage.single(store)(reservation(), async ({ tx }) => {
        ran++
        await stage.insert(tx, 'a ride')
        return keeping
      })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => attempt(nodes[index % 2] ?? stage.store)),
    )
    same([ran, await stage.countRows()], [1, 1])
    for (const outcome of outcomes) assert.ok(isDuplicateOrFirst(outcome), JSON.stringify(outcome))
  },

  'of a body that runs and a duplicate of normal mode one has the key, and the other leaves nothing': async (stage) => {
    const other = await stage.open()
    let duplicate: Promise<string> | undefined
    const running = stage.single(stage.store)(reservation(), async ({ tx }) => {
      await stage.insert(tx, 'a ride')
      duplicate = kindOrBusy(other.reserve(reservation()))
      return keeping
    })
    const [outcome] = await Promise.allSettled([running])
    const kind = await duplicate
    if (outcome.status === 'fulfilled')
      assert.ok(kind === 'in_progress' || kind === 'completed' || kind === 'store_busy', kind)
    else {
      assert.ok(isHapaxError(outcome.reason, 'claim_lost'))
      assert.equal(kind, 'reserved')
    }
    assert.equal(await stage.countRows(), outcome.status === 'fulfilled' ? 1 : 0)
  },

  'requests with keys of their own each commit their own row and answer': async (stage) => {
    const outcomes = await Promise.all(keys(10).map((key) => once(stage, reservation({ key }))))
    assert.ok(outcomes.every(({ kind }) => kind === 'committed'))
    assert.equal(await stage.countRows(), 10)
    for (const key of keys(10)) assert.equal((await stage.store.find(reservation({ key })))?.state, 'completed')
  },

  'another request under the key is judged, and its body does not run': async (stage) => {
    await once(stage, reservation())
    same(await once(stage, reservation(anotherRequest)), { kind: 'judged', verdict: { kind: 'mismatched' } })
    assert.equal(await stage.countRows(), 1)
  },

  'what normal mode holds is judged, and nothing of it changes': async (stage) => {
    const claim = await claimed(stage.store)
    const before = await stage.store.find(claim)
    const verdict = { kind: 'in_progress', leaseLeftMs: leaseMs }
    same(await once(stage, reservation()), { kind: 'judged', verdict })
    assert.equal(await stage.countRows(), 0)
    same(await stage.store.find(claim), before)
    assert.ok(await stage.store.complete(claim, completion()))
  },

  'a doubt is judged, and so is the run-out lease that becomes one': async (stage) => {
    const { store } = stage
    const [one, another] = keys(2)
    await doubted(store, { key: one ?? assert.fail() })
    await claimed(store, { key: another ?? assert.fail(), onLeaseOver: 'doubt' })
    await stage.at(leaseMs)
    for (const key of keys(2)) {
      const verdict = { kind: 'unknown', reconcileInMs: 0, ...(key === another && { swept: true }) }
      same(await once(stage, reservation({ key })), { kind: 'judged', verdict })
      assert.equal(present(await store.find(reservation({ key }))).state, 'unknown')
    }
    assert.equal(await stage.countRows(), 0)
  },

  'what failed before goes on under the next fence, and stays failed if the body throws': async (stage) => {
    const before = await failed(stage.store)
    const kept = await stage.store.find(before)
    await assert.rejects(stage.single(stage.store)(reservation(), () => Promise.reject(new Error('again'))))
    same(await stage.store.find(before), kept)
    await once(stage, reservation())
    const { state, fence, attempt } = present(await stage.store.find(before))
    same([state, fence, attempt], ['completed', 2, 2])
  },

  'a key that expired is the next generation, or refused where the policy says so': async (stage) => {
    await completed(stage.store)
    await stage.at(retentionMs)
    const expired = { kind: 'expired', generation: 1 }
    same(await once(stage, reservation({ onExpired: 'refuse' })), { kind: 'judged', verdict: expired })
    assert.equal((await once(stage, reservation(anotherRequest))).kind, 'committed')
    const { generation, fence, fingerprint } = present(await stage.store.find(reservation()))
    same([generation, fence, fingerprint], [2, 2, anotherRequest.fingerprints[0]])
  },

  'whoever wants to be told that a key is new is told, and nothing is taken': async (stage) => {
    same(await once(stage, reservation({ onNew: 'tell' })), { kind: 'judged', verdict: { kind: 'new' } })
    same([await stage.store.find(reservation()), await stage.countRows()], [undefined, 0])
  },
}

/** With an outbox. */
export const singleEffects: Readonly<Record<string, Show>> = {
  'the effects of one transaction commit with it, and not without it': async (stage) => {
    const effects = [effect('a'), effect('b', { sequence: 2 })]
    const outbox = stage.effects(stage.store)
    await stage
      .single(stage.store)(reservation(), () => Promise.reject(new Error('no')))
      .catch(() => undefined)
    same((await outbox.list({ limit: 10 })).effects, [])
    await once(stage, reservation(), { ...keeping, effects })
    const record = present(await stage.store.find(reservation()))
    assert.equal(record.hasEffects, true)
    const claimedNow = await taken(stage)
    same(namesOf(claimedNow), ['a', 'b'])
    same(
      claimedNow.map(({ recordId, generation }) => [recordId, generation]),
      [
        [record.id, 1],
        [record.id, 1],
      ],
    )
  },

  'an answer whose rows are undone leaves no effect': async (stage) => {
    const undoing = { value: 'declined', rows: 'undo', completion: completion(), effects: [effect('a')] } as const
    await once(stage, reservation(), undoing)
    same((await stage.effects(stage.store).list({ limit: 10 })).effects, [])
    const { state, hasEffects } = present(await stage.store.find(reservation()))
    same([state, hasEffects, await stage.countRows()], ['completed', false, 0])
  },
}

const keeping: SingleStep<string> = { value: 'the value', rows: 'keep', completion: completion() }

/** Inserts a row and ends like this. */
function once(stage: Stage, asked: Reservation, step: SingleStep<string> = keeping): Promise<SingleOutcome<string>> {
  return stage.single(stage.store)(asked, async ({ tx }) => {
    await stage.insert(tx, 'a ride')
    return step
  })
}

function isDuplicateOrFirst(outcome: PromiseSettledResult<SingleOutcome<string>>): boolean {
  if (outcome.status === 'rejected') return isHapaxError(outcome.reason, 'store_busy')
  const { value } = outcome
  return value.kind === 'committed' || value.verdict.kind === 'in_progress' || value.verdict.kind === 'completed'
}

async function kindOrBusy(verdict: ReturnType<AnyStore['reserve']>): Promise<string> {
  try {
    return (await verdict).kind
  } catch (error) {
    if (isHapaxError(error, 'store_busy')) return error.code
    throw error
  }
}
