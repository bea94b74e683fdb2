import assert from 'node:assert/strict'
import type { StoredAnswer } from '../../engine/record.js'
import { scopeOf } from '../../engine/scope.js'
import { same } from '../expect.js'
import {
  answer,
  claimed,
  completed,
  completion,
  doubted,
  failed,
  halfDone,
  keys,
  leaseMs,
  retentionMs,
  tombstoneMs,
} from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** What a tenant takes up: what its quotas are judged by. */
export const usage: Readonly<Record<string, Show>> = {
  'a tenant that nobody has heard of takes up nothing': async ({ store }) => {
    await completed(store)
    same(await store.usage('globex', 10), { keys: 0, bytes: 0 })
  },

  'a tenant is counted over all of its scopes, on every node': async ({ store, open }) => {
    const other = await open()
    const scopes = [
      { tenant: 'acme' },
      { tenant: 'acme', principal: 'usr_7' },
      { tenant: 'acme', principal: 'usr_7', route: 'POST /payments' },
      { tenant: 'acme', credential: '~' },
      { tenant: 'acme', route: '!' },
    ]
    for (const parts of scopes) await stored(store, scopeOf(parts), answer('12345'))
    same(await other.usage('acme', 100), { keys: 5, bytes: 25 })
  },

  'a tenant is not counted for another whose name begins like its own': async ({ store }) => {
    const tenants = [
      'acme',
      'acme-2',
      'ac',
      'acm',
      'acme.',
      'acme~',
      'ACME',
      'acme;',
      'acme<',
      'acme=',
      'acme%',
      'acmé',
    ]
    for (const [index, tenant] of tenants.entries()) {
      await stored(store, scopeOf(tenant), answer('x'.repeat(index + 1)))
      await stored(store, scopeOf({ tenant, principal: 'acme' }), answer(''))
    }
    for (const [index, tenant] of tenants.entries()) {
      same(await store.usage(scopeOf(tenant), 100), { keys: 2, bytes: index + 1 }, `the usage of ${tenant}`)
    }
  },

  'whatever state a key is in, it counts until it is free again': async ({ store, at }) => {
    const [first, second, third, fourth, fifth] = keys(5).map((key) => ({ key }))
    await completed(store, first)
    await failed(store, second)
    await halfDone(store, third)
    await doubted(store, fourth)
    await claimed(store, fifth)
    const bytes = bodyBytes(completion().answer)
    same(await store.usage('acme', 100), { keys: 5, bytes })
    await at(retentionMs - 1)
    same(await store.usage('acme', 100), { keys: 5, bytes })
    await at(retentionMs)
    same(await store.usage('acme', 100), { keys: 3, bytes: 0 }, 'what never expires, though no reaper ran')
  },

  'a key that is kept for ever counts for ever': async ({ store, at }) => {
    await completed(store, { retentionMs: undefined })
    await at(100 * tombstoneMs)
    assert.equal((await store.usage('acme', 100)).keys, 1)
  },

  'a tombstone does not count, and a key used anew does': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs)
    await store.reap(10)
    same(await store.usage('acme', 100), { keys: 0, bytes: 0 })
    await completed(store)
    same(await store.usage('acme', 100), { keys: 1, bytes: bodyBytes(completion().answer) })
  },

  'a claim whose lease is over still counts, and one that was released does not': async ({ store, at }) => {
    const [first, second] = keys(2).map((key) => ({ key }))
    await claimed(store, first)
    await store.release(await claimed(store, second))
    await at(leaseMs)
    same(await store.usage('acme', 100), { keys: 1, bytes: 0 })
  },

  'the bytes are those of the bodies, to the last one': async ({ store }) => {
    const bodies = [0, 1, 100_000, 300].map((length) => new Uint8Array(length).fill(length % 256))
    for (const [index, body] of bodies.entries()) {
      await stored(store, scopeOf({ tenant: 'acme', principal: `${index}` }), answer('', { body }))
    }
    await stored(store, scopeOf({ tenant: 'acme', principal: 'two bytes' }), answer('é'))
    same(await store.usage('acme', 100), { keys: 5, bytes: 100_303 })
  },

  'an answer that was withheld counts as a key and takes no bytes': async ({ store }) => {
    const withheld: StoredAnswer = { kind: 'withheld', status: 201, headers: [], bytes: 5_000_000 }
    await stored(store, scopeOf('acme'), withheld)
    same(await store.usage('acme', 100), { keys: 1, bytes: 0 })
  },

  'no more keys are looked for than asked, over all scopes together': async ({ store }) => {
    for (const key of keys(3)) {
      await completed(store, { key })
      await completed(store, { key, scope: scopeOf({ tenant: 'acme', principal: 'usr_7' }) })
    }
    const each = bodyBytes(completion().answer)
    for (const atMost of [1, 2, 4, 6]) same(await store.usage('acme', atMost), { keys: atMost, bytes: atMost * each })
    same(await store.usage('acme', 7), { keys: 6, bytes: 6 * each })
    same(await store.usage('acme', Number.MAX_SAFE_INTEGER), { keys: 6, bytes: 6 * each })
  },

  'a usage refuses a bound that is no whole number from 1': async ({ store }) => {
    for (const atMost of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      await assert.rejects(store.usage('acme', atMost), `usage took ${atMost} for a bound`)
  },

  'counting changes nothing': async ({ store, at }) => {
    const claim = await completed(store)
    await at(retentionMs)
    const before = await store.find(claim)
    await store.usage('acme', 10)
    same(await store.find(claim), before)
  },
}

async function stored(store: AnyStore, scope: ReturnType<typeof scopeOf>, kept: StoredAnswer): Promise<void> {
  const claim = await claimed(store, { scope })
  assert.ok(await store.complete(claim, { answer: kept, answerVersion: 1 }))
}

function bodyBytes(kept: StoredAnswer): number {
  return kept.kind === 'kept' ? kept.body.byteLength : 0
}
