import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import type { StoredAnswer } from '../../engine/record.js'
import { present, same, verdictOf } from '../expect.js'
import { answer, checkpoint, claimed, reservation, settlement } from '../given.js'
import type { Show, Stage } from '../stage.js'

/** What was kept comes back byte for byte. */
export const answers: Readonly<Record<string, Show>> = {
  'every byte from 0 to 255 survives': (stage) => survives(stage, answer('', { body: everyByte })),

  'a body that looks like JSON keeps its order, its spaces and its numbers': (stage) =>
    survives(stage, answer('{"b": 1, "a":12345678901234567890.00,"a":"\\u0000"}\n')),

  'an empty body survives': (stage) => survives(stage, answer('', { status: 204, headers: [] })),

  'a body of a megabyte survives': (stage) =>
    survives(
      stage,
      answer('', { body: Uint8Array.from({ length: 1024 * 1024 }, (_, index) => (index * 31 + (index >> 8)) % 256) }),
    ),

  'headers keep their order, their spelling and their duplicates': (stage) =>
    survives(
      stage,
      answer('', {
        headers: [
          ['link', '</a>; rel="next"'],
          ['X-Empty', ''],
          ['Link', '</b>; rel="prev"'],
          ['link', '</a>; rel="next"'],
        ],
      }),
    ),

  'header values outside of ASCII survive': (stage) =>
    survives(stage, answer('', { headers: [['location', '/caf\u00e9/\u00ff\u0080"\\\'']] })),

  'an answer that was withheld keeps its status, its headers and its size': (stage) =>
    survives(stage, { kind: 'withheld', status: 201, headers: [['location', '/payments/1']], bytes: 5_000_000_000 }),

  'every status survives': async ({ store }) => {
    for (const status of [200, 299, 302, 402, 422, 500, 599]) {
      const claim = await claimed(store, { key: keyOf(`${status}`) })
      await store.complete(claim, { answer: answer('', { status }), answerVersion: 1 })
      assert.equal(verdictOf(await store.reserve(reservation({ key: claim.key })), 'completed').answer.status, status)
    }
  },

  'an answer keeps the version of its shape': async ({ store }) => {
    const claim = await claimed(store)
    await store.complete(claim, { answer: answer('{}'), answerVersion: 7 })
    assert.equal(verdictOf(await store.reserve(reservation()), 'completed').record.answerVersion, 7)
  },

  'a completed record is finished, with its time and nothing but its answer': async ({ store, at, startedAt }) => {
    const claim = await claimed(store)
    await store.checkpoint(claim, checkpoint)
    const before = present(await store.find(claim))
    await at(1_000)
    await store.complete(claim, { answer: answer('{}'), answerVersion: 1 })
    same(await store.find(claim), {
      ...before,
      state: 'completed',
      leaseUntil: undefined,
      recoveryPoint: 'finished',
      progress: undefined,
      answer: answer('{}'),
      answerVersion: 1,
      completedAt: startedAt + 1_000,
      expiresAt: startedAt + 1_000 + (before.retentionMs ?? 0),
    })
  },

  'progress survives byte for byte': async ({ store, open }) => {
    const other = await open()
    const claim = await claimed(store)
    for (const progress of [everyByte, new Uint8Array(0), Buffer.from('{"a":1}')]) {
      assert.ok(await store.checkpoint(claim, { ...checkpoint, progress }))
      same(present(await other.find(claim)).progress, progress)
    }
  },

  'names and reasons survive in any script': async ({ store }) => {
    const text = 'Zahlung „doppelt“ 支払い 💶 "q" \'s\' \\ %s $1 ?'
    const claim = await claimed(store, { operation: text })
    await store.doubt(claim, { errorCode: text, reconcileAfterMs: 0 })
    assert.equal(present(await store.find(claim)).errorCode, text)
    const { evidence, ...rest } = settlement({ kind: 'landed', recoveryPoint: text })
    await store.settle(claim, { ...rest, evidence: { ...evidence, by: text, why: text } })
    const record = present(await store.find(claim))
    same(
      [record.operation, record.recoveryPoint, record.evidence[0]?.by, record.evidence[0]?.why],
      [text, text, text, text],
    )
  },
}

const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index)

/** Completed on one node, replayed and found on another. */
async function survives({ store, open }: Stage, kept: StoredAnswer): Promise<void> {
  const claim = await claimed(store)
  assert.ok(await store.complete(claim, { answer: kept, answerVersion: 1 }))
  const other = await open()
  same(verdictOf(await other.reserve(reservation()), 'completed').answer, kept)
  same(present(await other.find(claim)).answer, kept)
}
