import { createHash } from 'node:crypto'
import { migrateSqlite } from 'hapax/sqlite'
import { expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { listingOf } from '../../src/stores/sql/listing.js'
import { callQueries } from '../../src/stores/sqlite/calls/call-queries.js'
import { effectQueries } from '../../src/stores/sqlite/effects/effect-queries.js'
import { measureQueries } from '../../src/stores/sqlite/measurement.js'
import { migrations } from '../../src/stores/sqlite/migrations/index.js'
import { listing, recordQueries } from '../../src/stores/sqlite/record-queries.js'
import { rejection } from '../support/waiting.js'
import { claimed } from './given.js'
import { freshPath, looking, openStore } from './sqlite-fixtures/given.js'

/** The schema: what was released stays as it is, what it refuses, and which index each query walks. */

/** A released migration is never edited: somebody has already applied it. Add a new one instead. */
const released = {
  '0001-records': '7110fc97a955d99933e22443855b4b0a7f9e345bb6274e589c1e61a4924be95a',
  '0002-work': '142ff28d1491ed34658cecbfda1a0c8c717c9c1a46d18327d5591925660c706f',
  '0003-reaping': '43e91a97d5eff358f7db7023e0cf2328e5c93ed4fa26e0e947eb3dae121a19c3',
  '0004-turns': '99edd0567800a81296a16c73d492aada84a19edada8bbb1f0b8303dce93ed99c',
  '0005-traces': '96d6422982a1fe9cd0d5f2576e34d149573ecf1b48128a87554be7dc81636e25',
  '0006-audit': 'f38cd432edfbb2e1553925d5be33fe85aa657952f99a16b608ba062b503ca8ce',
  '0007-effects-by-tenant': 'f72791fc3da0b7e60092cae409011b46c35f18bfa6fa706d82ae53deba858787',
  '0008-unfinished': 'ba31502a81809937c3cadcdda754daf29a317bfe2988f64366f241db1b8e7359',
}

test('no released migration was edited, and each has the next number', () => {
  const hashes = migrations.map(({ name, sql }) => [name, createHash('sha256').update(sql).digest('hex')])
  expect(Object.fromEntries(hashes)).toEqual(released)
  expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, index) => index + 1))
  expect(migrations.every(({ name, version }) => name.startsWith(String(version).padStart(4, '0')))).toBe(true)
})

test.each([
  ['an unknown state', "UPDATE hapax_records SET status = 'lost'"],
  ['an empty key', "UPDATE hapax_records SET idempotency_key = ''"],
  ['a key of 256 characters', `UPDATE hapax_records SET idempotency_key = '${'k'.repeat(256)}'`],
  ['no scope', "UPDATE hapax_records SET scope_id = ''"],
  ['a digest of another length', "UPDATE hapax_records SET digest = x'00'"],
  ['a completed record without an answer', 'UPDATE hapax_records SET response_status_code = NULL'],
  ['a completed record with a lease', 'UPDATE hapax_records SET locked_until = 1'],
  ['a text where a number belongs', "UPDATE hapax_records SET fence = 'first'"],
  ['a record without an expiry', 'UPDATE hapax_records SET expires_at = NULL'],
  ['a second record of the same name', 'UPDATE hapax_records SET digest = (SELECT min(digest) FROM hapax_records)'],
])('the table refuses %s', async (_, sql) => {
  const store = await openStore()
  await store.complete(await claimed(store, 'one'), completion())
  await store.complete(await claimed(store, 'another'), completion())
  const constraint = expect.stringMatching(/^SQLITE_CONSTRAINT|_3091$/)
  expect(await rejection(store.query({ sql }))).toMatchObject({ code: 'store_failed', cause: { code: constraint } })
})

test('locked_at tells since when a claim is held, and is empty while nobody holds one', async () => {
  const store = await openStore()
  const lockedAt = async () => (await store.query({ sql: 'SELECT locked_at, last_run_at FROM hapax_records' })).rows[0]
  const claim = await claimed(store, 'k')
  const { last_run_at, locked_at } = (await lockedAt()) ?? {}
  expect(locked_at).toBe(last_run_at)
  await store.complete(claim, completion())
  expect(await lockedAt()).toEqual({ last_run_at, locked_at: null })
})

test.each([
  ['a record is found', recordQueries.find, 'hapax_records_digest'],
  ['the sweeper looks', recordQueries.overdue, 'hapax_records_open'],
  ['what nobody goes on with is looked for', recordQueries.unfinished(['a']), 'hapax_records_unfinished'],
  ['the reconciler looks', recordQueries.doubts(['a']), 'hapax_records_doubts'],
])('when %s, only the index is walked', async (_, sql, index) => {
  const path = freshPath()
  await migrateSqlite({ path })
  const plan = looking(path, (database) => database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parametersOf(sql)))
  expect(plan).toHaveLength(1)
  expect(plan).toMatchObject([{ detail: expect.stringContaining(`USING INDEX ${index} `) }])
})

test.each([
  ['a tenant', { tenant: 'acme' }, 'hapax_records_scope'],
  ['a scope', { scope: 'acme' as never }, 'hapax_records_scope'],
  ['a key', { key: { is: 'k' } }, 'hapax_records_key'],
  ['keys that begin alike', { key: { startsWith: 'k' } }, 'hapax_records_key'],
  ['what is unknown', { state: 'unknown' as const }, 'hapax_records_doubts_listed'],
  ['what has failed', { state: 'failed_retryable' as const }, 'hapax_records_failures'],
  ['what is in progress', { state: 'in_progress' as const }, 'hapax_records_open'],
])('when %s is listed, the table is not read through', async (_, query, index) => {
  const path = freshPath()
  await migrateSqlite({ path })
  const { text, values } = listingOf({ ...query, limit: 10 }, 10, listing)
  const plan = looking(path, (database) => database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(values)) as {
    detail: string
  }[]
  const steps = plan.map(({ detail }) => detail)
  expect(steps.filter((step) => step.includes('hapax_records')).join('; ')).toContain(` ${index}`)
  expect(steps.filter((step) => step === 'SCAN hapax_records')).toEqual([])
})

test.each([
  ['the reaper deletes', recordQueries.forgotten, ['hapax_records_tombstones', 'hapax_effect_states_open']],
  ['calls go with their record', callQueries.removeOf, ['hapax_calls_record']],
  ['effects go with their record', effectQueries.of, ['sqlite_autoindex_hapax_effects_2']],
  ['testimonies go with what they are about', callQueries.removeTestimonies, ['hapax_testimonies_key']],
  [
    'old testimonies are looked at',
    callQueries.oldTestimonies,
    ['hapax_testimonies_said', 'sqlite_autoindex_hapax_calls_1', 'sqlite_autoindex_hapax_effects_1'],
  ],
  ['calls of a window are listed', callQueries.list, ['hapax_calls_begun']],
  ['calls are found by their keys', callQueries.named, ['sqlite_autoindex_hapax_calls_1']],
  ['effects that were done are listed', effectQueries.done, ['hapax_effect_states_final']],
  ['effects are found by their keys', effectQueries.withKeys, ['sqlite_autoindex_hapax_effects_1']],
  ['the reaper buries', recordQueries.expired, ['hapax_records_expires', 'hapax_effect_states_open']],
  ['the resumer looks', recordQueries.interrupted(['a']), ['hapax_records_resumable', 'hapax_records_failed']],
  ['a worker claims', effectQueries.claimable, ['hapax_effect_states_ready', 'hapax_effect_states_leased']],
  ['the outbox is swept', effectQueries.overdue, ['hapax_effect_states_leased']],
  ['doubtful effects are looked at', effectQueries.doubts, ['hapax_effect_states_doubts']],
  ['dead letters are listed', effectQueries.list({ state: 'dead', limit: 1 }).text, ['hapax_effect_states_dead']],
  [
    'dead letters of a tenant are listed',
    effectQueries.list({ state: 'dead', tenant: 'acme', limit: 1 }).text,
    ['hapax_effect_states_dead', 'hapax_effect_states_dead'],
  ],
  [
    'effects of a tenant are listed',
    effectQueries.list({ tenant: 'acme', limit: 1 }).text,
    ['hapax_effects_scope', 'hapax_effects_scope'],
  ],
  ['effects that are over are deleted', effectQueries.final, ['hapax_effect_states_final']],
  ['runs are measured', measureQueries.inProgress, ['hapax_records_open', 'hapax_records_resumable']],
  ['doubts are measured', measureQueries.unknown, ['hapax_records_unknown']],
  ['all other keys are measured', measureQueries.others, ['hapax_records_expires', 'hapax_records_failures']],
  [
    'waiting effects are measured',
    measureQueries.waiting,
    ['hapax_effect_states_ready', 'hapax_effect_states_waiting'],
  ],
  ['the lag is measured', measureQueries.claimable, ['hapax_effect_states_ready', 'hapax_effect_states_leased']],
  ['doubts about effects are measured', measureQueries.effectDoubts, ['hapax_effect_states_unknown']],
  ['dead letters are measured', measureQueries.dead, ['hapax_effect_states_dead']],
])('when %s, only these indexes and primary keys are walked', async (_, sql, indexes) => {
  const path = freshPath()
  await migrateSqlite({ path })
  const plan = looking(path, (database) =>
    database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parametersOf(sql)),
  ) as readonly { readonly detail: string }[]
  const walks = plan.filter(({ detail }) => /^(SEARCH|SCAN) (hapax|[sebtc]\b)/.test(detail))
  const others = walks.filter(({ detail }) => !detail.includes('USING INTEGER PRIMARY KEY'))
  expect(others.map(({ detail }) => /USING (?:COVERING )?INDEX (\w+)/.exec(detail)?.[1])).toEqual(indexes)
})

test('when a tenant is counted, two ranges of one index are walked', async () => {
  const path = freshPath()
  await migrateSqlite({ path })
  const plan = looking(path, (database) =>
    database.prepare(`EXPLAIN QUERY PLAN ${recordQueries.usage}`).all(['a', 1, 'a;', 'a<', 1, 1]),
  ) as readonly { readonly detail: string }[]
  const scans = plan.map(({ detail }) => detail).filter((detail) => detail.includes('hapax_records'))
  expect(scans).toEqual([
    'SEARCH hapax_records USING INDEX hapax_records_scope (scope_id=?)',
    'SEARCH hapax_records USING INDEX hapax_records_scope (scope_id>? AND scope_id<?)',
  ])
})

/** One for each, and one that a list can be read from. */
function parametersOf(sql: string): readonly unknown[] {
  return [...new Set(Array.from(sql.matchAll(/\?\d*/g), ([mark], index) => (mark === '?' ? index : mark)))].map(() => 1)
}
