import { readFileSync } from 'node:fs'
import { type Claim, nextState, type Settlement, type StoredRecord, states, stateTable } from 'hapax'
import type { SqliteStore } from 'hapax/sqlite'
import { expect, test } from 'vitest'
import { anotherRequest, claimed, created, reservation } from './support/reservations.js'
import { testFile } from './support/test-file.js'
import { hours, noon, seconds } from './support/times.js'

/** The state model on a real file: every call of the port, made to a record in every standing. */

/** What a record is in when the call comes; the claim is always the last one given, or a forged one when there is none. */
const standings: Readonly<Record<string, (store: SqliteStore, key: string) => Promise<Claim>>> = {
  absent: async (_store, key) => ({ ...reservation(key), generation: 1, fence: 1 }),
  running: (store, key) => claimed(store, reservation(key, { leaseMs: 2 * hours })),
  overdue: (store, key) => claimed(store, reservation(key)),
  resumable: (store, key) => claimed(store, reservation(key, { onLeaseOver: 'resume' })),
  completed: (store, key) => ended(store, key, (claim) => store.complete(claim, created)),
  failed: (store, key) => ended(store, key, (claim) => store.fail(claim, { errorCode: 'threw' })),
  halfdone: (store, key) => ended(store, key, (claim) => halfDone(store, claim)),
  forsaken: (store, key) => ended(store, key, (claim) => halfDone(store, claim), { retentionMs: seconds }),
  lapsed: (store, key) => claimed(store, reservation(key, { onLeaseOver: 'resume', retentionMs: seconds })),
  unknown: (store, key) =>
    ended(store, key, (claim) => store.doubt(claim, { errorCode: 'timeout', reconcileAfterMs: 0 })),
  outdated: (store, key) => ended(store, key, (claim) => store.complete(claim, created), { retentionMs: seconds }),
  buried: async (store, key) => {
    const claim = await ended(store, key, (claim) => store.complete(claim, created), {
      retentionMs: 0,
      tombstoneMs: hours,
    })
    expect(await store.reap(100)).toEqual({ buried: 1, deleted: 0 })
    return claim
  },
}

const calls: Readonly<Record<string, (store: SqliteStore, claim: Claim) => Promise<unknown>>> = {
  reserve: (store, { key }) => store.reserve(reservation(key)),
  another: (store, { key }) => store.reserve(reservation(key, anotherRequest)),
  renew: (store, claim) => store.renew(claim, 30 * seconds),
  proceed: (store, claim) =>
    store.checkpoint(claim, { recoveryPoint: 'charged', onLeaseOver: 'doubt', leaseMs: 30 * seconds }),
  complete: (store, claim) => store.complete(claim, created),
  release: (store, claim) => store.release(claim),
  fail: (store, claim) => store.fail(claim, { errorCode: 'threw' }),
  doubt: (store, claim) => store.doubt(claim, { errorCode: 'timeout', reconcileAfterMs: 0 }),
  sweep: (store) => store.sweep(100),
  settled: (store, claim) => store.settle(claim, settlement({ kind: 'completed', ...created })),
  landed: (store, claim) => store.settle(claim, settlement({ kind: 'landed', recoveryPoint: 'charged' })),
  refuted: (store, claim) => store.settle(claim, settlement({ kind: 'not_landed' })),
  reap: (store) => store.reap(100),
  // As if nobody knew their operation.
  abandon: (store) => store.abandon({ operations: [], limit: 100 }),
}

/** Where each call leads: a state, `gone`, or a dot where nothing at all may change. */
const model = `
          reserve     another     renew       proceed     complete  release fail             doubt   sweep   settled   landed           refuted          reap    abandon
absent    in_progress in_progress .           .           .         .       .                .       .       .         .                .                .       .
running   .           .           in_progress in_progress completed gone    failed_retryable unknown .       .         .                .                .       .
overdue   unknown     .           in_progress in_progress completed gone    failed_retryable unknown unknown .         .                .                .       .
resumable in_progress .           in_progress in_progress completed gone    failed_retryable unknown .       .         .                .                .       .
completed .           .           .           .           .         .       .                .       .       .         .                .                .       .
failed    in_progress .           .           .           .         .       .                .       .       .         .                .                .       .
halfdone  in_progress .           .           .           .         .       .                .       .       .         .                .                .       .
forsaken  in_progress .           .           .           .         .       .                .       .       .         .                .                .       unknown
lapsed    in_progress .           in_progress in_progress completed gone    failed_retryable unknown .       .         .                .                .       unknown
unknown   .           .           .           .           completed .       .                .       .       completed failed_retryable failed_retryable .       .
outdated  in_progress in_progress .           .           .         .       .                .       .       .         .                .                expired .
buried    in_progress in_progress .           .           .         .       .                .       .       .         .                .                gone    .
`

test('every call in every standing leads where the model says, and a refused one changes nothing [S2-011 S2-012 S2-109]', async () => {
  const found: Record<string, Record<string, string>> = {}
  for (const [name, call] of Object.entries(calls)) {
    const file = await testFile()
    const { store } = file.node()
    await file.setTime(noon)
    const claims: [string, Claim][] = []
    for (const [standing, prepare] of Object.entries(standings)) claims.push([standing, await prepare(store, standing)])
    await file.setTime(noon + hours)
    const before = await Promise.all(claims.map(([, claim]) => store.find(claim)))
    for (const [, claim] of claims) await call(store, claim)
    for (const [index, [standing, claim]] of claims.entries()) {
      found[standing] = { ...found[standing], [name]: change(before[index], await store.find(claim)) }
    }
  }
  expect(found).toEqual(parsed(model))
})

test('the one table in code has no way out of a doubt but evidence, and the word of the last holder [S2-109]', () => {
  const waysOut = stateTable.filter(({ from, to }) => from === 'unknown' && to !== 'unknown')
  expect(waysOut.map(({ on, by }) => `${on} by ${by}`).sort()).toEqual([
    'complete by holder',
    'settle_completed by evidence',
    'settle_landed by evidence',
    'settle_not_landed by evidence',
  ])
  expect(nextState('unknown', 'reserve')).toBeUndefined()
  expect(nextState('unknown', 'resume')).toBeUndefined()
  expect(nextState('unknown', 'release')).toBeUndefined()
})

test('the page of states draws every transition there is, and says of each state what a retry gets [S2-001]', () => {
  const text = readFileSync(new URL('../../docs/reference/states.md', import.meta.url), 'utf8')
  const drawn = [...text.matchAll(/^ {2}(\S+) --> (\S+): (\w+)$/gm)].map(([, from, to, on]) => `${from} ${on} ${to}`)
  const point = (state: string) => (state === 'none' ? '[*]' : state)
  expect(drawn.sort()).toEqual(stateTable.map(({ from, on, to }) => `${point(from)} ${on} ${point(to)}`).sort())
  const told = [...text.matchAll(/^\| `(\w+)` \| ([^|]{10,}) \| ([^|]{10,}) \|$/gm)].map(([, state]) => state)
  expect(told).toEqual([...states])
  expect(text).toMatch(/`unknown` \| something may have happened \| `outcome_unknown`; it never runs/)
})

async function ended(
  store: SqliteStore,
  key: string,
  end: (claim: Claim) => Promise<unknown>,
  changes: Parameters<typeof reservation>[1] = {},
): Promise<Claim> {
  const claim = await claimed(store, reservation(key, changes))
  expect(await end(claim)).toBeTruthy()
  return claim
}

/** A phase has committed, and then it failed. */
async function halfDone(store: SqliteStore, claim: Claim): Promise<unknown> {
  await store.checkpoint(claim, { recoveryPoint: 'charged', onLeaseOver: 'doubt', leaseMs: 30 * seconds })
  return store.fail(claim, { errorCode: 'threw' })
}

function settlement(outcome: Settlement['outcome']): Settlement {
  return { generation: 1, outcome, evidence: { by: 'operator', why: 'the provider was asked' } }
}

function change(before: StoredRecord | undefined, after: StoredRecord | undefined): string {
  if (JSON.stringify(before) === JSON.stringify(after)) return '.'
  return after?.state ?? 'gone'
}

function parsed(text: string): Record<string, Record<string, string>> {
  const [head = [], ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/))
  return Object.fromEntries(
    rows.map(([standing = '', ...cells]) => [
      standing,
      Object.fromEntries(cells.map((cell, index) => [head[index], cell])),
    ]),
  )
}
