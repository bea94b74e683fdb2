import { agree, compareLedgers, type LedgerEntry, type StoredCall } from 'hapax'
import { expect, test } from 'vitest'
import type { StoredEffect } from '../../src/engine/effect-store.js'
import { workerBounds } from '../../src/kernel/limits.js'
import { manualClock } from '../support/manual-clock.js'

/** Two ledgers, compared in both directions. */

const hour = 3_600_000
const now = Date.UTC(2026, 1, 28, 12)

function call(
  key: string,
  state: StoredCall['state'],
  begunAt = now - 5 * hour,
  operation = 'rides.create',
): StoredCall {
  return { id: 1, key, scope: 'acme', operation, generation: 1, phase: 'charged', state, begunAt }
}

/** Pages of two. */
function holding(...calls: readonly StoredCall[]) {
  const list = async ({ after = '0' }: { after?: string }) => {
    const from = Number(after)
    return { calls: calls.slice(from, from + 2), next: from + 2 < calls.length ? String(from + 2) : undefined }
  }
  const named = async (keys: readonly string[]) => calls.filter(({ key }) => keys.includes(key))
  return { calls: { list, named } as never, outbox: undefined, clock: manualClock(now), open: async () => {} }
}

/** An effect that was done, and when it was first tried. */
function effect(downstreamKey: string, firstStartedAt: number, finishedAt: number): StoredEffect {
  return {
    ...({} as StoredEffect),
    downstreamKey,
    state: 'done',
    firstStartedAt,
    finishedAt,
    createdAt: firstStartedAt,
  }
}

/** The same, in one page each. */
function carryingOut(...effects: readonly StoredEffect[]) {
  const done = async ({ since }: { since: number }) => ({
    effects: effects.filter(({ finishedAt = 0 }) => finishedAt >= since),
    next: undefined,
  })
  const list = async () => ({ effects: [], next: undefined })
  const named = async (keys: readonly string[]) => effects.filter(({ downstreamKey }) => keys.includes(downstreamKey))
  return { ...holding(), outbox: { done, list, named } as never }
}

const compare = (
  hapax: ReturnType<typeof holding>,
  ledger: readonly LedgerEntry[],
  options: Omit<Parameters<typeof compareLedgers>[0], 'hapax' | 'ledger'> = {},
) => compareLedgers({ hapax, ledger, ...options })

test('where both sides have the same, over many pages, they agree', async () => {
  const keys = ['a', 'b', 'c', 'd', 'e']
  const report = await compare(
    holding(...keys.map((key) => call(key, 'landed'))),
    keys.map((key) => ({ key })),
  )
  expect(agree(report)).toBe(true)
  expect(report.compared).toEqual({ provider: 5, ours: 5 })
})

test('each kind of difference is told apart', async () => {
  const hapax = holding(
    call('done', 'landed'),
    call('gone', 'landed'),
    call('doubt', 'begun'),
    call('denied', 'not_landed'),
  )
  const ledger = [
    { key: 'done', id: '1' },
    { key: 'done', id: '2' },
    { key: 'doubt' },
    { key: 'denied' },
    { key: 'whose' },
  ]
  const report = await compare(hapax, ledger)
  expect(agree(report)).toBe(false)
  expect(report.orphans).toEqual({ count: 1, first: [{ key: 'whose' }] })
  expect(report.missing.first.map(({ key }) => key)).toEqual(['gone'])
  expect(report.open.first.map(({ ours }) => ours.key)).toEqual(['doubt'])
  expect(report.contradicted.first.map(({ ours }) => ours.key)).toEqual(['denied'])
  expect(report.doubled.first).toEqual([{ key: 'done', id: '2' }])
})

test('what nobody did, on either side, is no difference: a call that did not land, and the provider does not have', async () => {
  expect(agree(await compare(holding(call('a', 'not_landed')), []))).toBe(true)
})

test('a doubt of ours that the provider does not have is told: a difference once it had the time to, pending before', async () => {
  const hapax = holding(
    call('old', 'begun'),
    call('young', 'begun', now - hour / 2),
    call('outside', 'begun', now - 48 * hour),
    call('mail', 'begun', undefined, 'mails.send'),
  )
  const only = { since: now - 24 * hour, ours: ({ operation }: { operation: string }) => operation === 'rides.create' }
  const report = await compare(hapax, [], only)
  expect(report.unconfirmed.first.map(({ key }) => key)).toEqual(['old'])
  expect(report.pending.first.map(({ key }) => key)).toEqual(['young'])
  expect(agree(report)).toBe(false)
  const young = await compare(hapax, [], { ...only, since: now - hour })
  expect([young.unconfirmed.count, young.pending.count, agree(young)]).toEqual([0, 1, true])
})

test('of more open ones than the report lists each is told', async () => {
  const keys = Array.from({ length: workerBounds.ledgerListed + 1 }, (_, n) => String(n))
  const told: string[] = []
  const { open } = await compare(
    holding(...keys.map((key) => call(key, 'begun'))),
    keys.map((key) => ({ key })),
    { onOpen: ({ ours }) => told.push(ours.key) },
  )
  expect(told).toEqual(keys)
  expect([open.count, open.first.length]).toEqual([keys.length, workerBounds.ledgerListed])
})

test('what is outside of the window, or may still be on its way, is compared with but not judged', async () => {
  const hapax = holding(
    call('young', 'landed', now - hour / 2),
    call('old', 'landed', now - 48 * hour),
    call('in', 'landed'),
  )
  const ledger = [
    { key: 'early', at: now - 48 * hour },
    { key: 'late', at: now - 1 },
    { key: 'here', at: now - 5 * hour },
  ]
  const report = await compare(hapax, ledger, { since: now - 24 * hour, until: now })
  expect(report.missing.first.map(({ key }) => key)).toEqual(['in'])
  expect(report.orphans.first.map(({ key }) => key)).toEqual(['here'])
  const eager = await compare(hapax, ledger, { since: now - 24 * hour, until: now, settle: '0ms' })
  expect([eager.missing.count, eager.orphans.count]).toEqual([2, 2])
})

test('what was begun in one window and done by the provider in a later one is judged there', async () => {
  const begunAt = now - 40 * hour
  const hapax = holding(call('doubt', 'begun', begunAt), call('denied', 'not_landed', begunAt))
  const dayTwo = { since: now - 24 * hour, until: now }
  const at = now - 10 * hour
  const report = await compare(
    hapax,
    ['doubt', 'denied'].map((key) => ({ key, at })),
    dayTwo,
  )
  expect([report.open.count, report.contradicted.count, agree(report)]).toEqual([1, 1, false])
  expect(report.compared).toEqual({ provider: 2, ours: 2 })
  const timeless = await compare(hapax, [{ key: 'doubt' }, { key: 'denied' }], dayTwo)
  expect([timeless.open.count, timeless.contradicted.count]).toEqual([1, 1])
})

test('what lies outside of the window on both sides is not judged, be it twice', async () => {
  const hapax = holding(call('doubt', 'begun', now - 40 * hour))
  const at = now - 30 * hour
  const ledger = [
    { key: 'doubt', id: '1', at },
    { key: 'doubt', id: '2', at },
    { key: 'whose', at },
  ]
  const report = await compare(hapax, ledger, { since: now - 24 * hour, until: now })
  expect([agree(report), report.compared]).toEqual([true, { provider: 0, ours: 0 }])
  const earlier = await compare(hapax, ledger, { since: now - 48 * hour, until: now - 24 * hour })
  expect([earlier.open.count, earlier.doubled.count, earlier.orphans.count]).toEqual([1, 1, 1])
})

test('a young call is not judged by a line without a time: both may be on their way', async () => {
  const report = await compare(holding(call('young', 'begun', now - 1)), [{ key: 'young' }], { until: now })
  expect([agree(report), report.compared]).toEqual([true, { provider: 1, ours: 1 }])
})

test('an effect belongs to the window it was done in, and not to that of its first try', async () => {
  const hapax = carryingOut(effect('late', now - 30 * hour, now - 20 * hour))
  const before = await compare(hapax, [], { since: now - 48 * hour, until: now - 24 * hour })
  expect([before.missing.count, before.compared.ours]).toEqual([0, 0])
  const dayTwo = { since: now - 24 * hour, until: now }
  const after = await compare(hapax, [{ key: 'late', at: now - 20 * hour }], dayTwo)
  expect([agree(after), after.compared]).toEqual([true, { provider: 1, ours: 1 }])
})

test('an effect that was first tried before the ledger begins is not missing in it: the provider may have done it then', async () => {
  const hapax = carryingOut(
    effect('late', now - 30 * hour, now - 20 * hour),
    effect('gone', now - 9 * hour, now - 8 * hour),
  )
  const dayTwo = { since: now - 24 * hour, until: now }
  const keys = ({ missing }: { missing: { first: readonly { key: string }[] } }) => missing.first.map(({ key }) => key)
  expect(keys(await compare(hapax, [], dayTwo))).toEqual(['gone'])
  expect(keys(await compare(hapax, [], { ...dayTwo, ledgerSince: now - 31 * hour }))).toEqual(['late', 'gone'])
})

test('calls to other providers are not missing here, but a key in the ledger is never an orphan if anybody of ours has it', async () => {
  const hapax = holding(call('a', 'landed', undefined, 'mails.send'), call('b', 'landed', undefined, 'mails.send'))
  const report = await compare(hapax, [{ key: 'a' }], { ours: ({ operation }) => operation === 'rides.create' })
  expect(agree(report)).toBe(true)
})

test('a window that ends before it begins is refused', async () => {
  await expect(compare(holding(), [], { since: 2, until: 1 })).rejects.toMatchObject({ code: 'policy_invalid' })
})

test('more keys than may be held are refused, and not held', async () => {
  function* endless() {
    for (let n = 0; ; n++) yield { key: String(n) }
  }
  const tooMany = compareLedgers({ hapax: holding(), ledger: endless() })
  await expect(tooMany).rejects.toThrow(`more than ${workerBounds.ledgerEntries} keys`)
}, 30_000)
