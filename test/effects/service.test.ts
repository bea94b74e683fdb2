import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EffectDefinition, effects, engine, pgBossRelay, type Store, startWorkers } from 'hapax'
import { type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import PgBoss from 'pg-boss'
import { expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'
import { bounded, gate, until } from '../support/waiting.js'
import { kind, provider, writeEffects } from './given.js'

/** The effect worker among the workers of an engine. */

const others = { sweeper: 'off', resumer: 'off', reconciler: 'off', reaper: 'off', effectReconciler: 'off' } as const

function opened(): Store<SqliteTransaction> {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-service-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return sqliteStore({ path: join(folder, 'outbox.db') })
}

function hapaxOn<Tx>(store: Store<Tx>, definition: EffectDefinition<unknown, unknown, Tx>) {
  const hapax = engine<Tx>({ store, effects: effects({ [kind]: definition as never }) as never, log: () => {} })
  onTestFinished(() => hapax.close())
  return hapax
}

test('a pass that fails is told and known, and the next that does not ends that', async () => {
  const store = opened()
  let isBroken = true
  const inner = store.effects
  if (inner === undefined) throw new Error('the store has no outbox')
  const claim: typeof inner.claim = (query) => (isBroken ? Promise.reject(new Error('gone')) : inner.claim(query))
  const hapax = hapaxOn({ ...store, effects: { ...inner, claim } }, { call: () => 1 })
  const failed = gate<string>()
  const worked = gate<unknown>()
  hapax.on('worker_failed', ({ worker, errorCode }) => failed.open(`${worker}: ${errorCode}`))
  hapax.on('worker_passed', ({ did }) => 'done' in did && worked.open(did))
  await hapax.open()
  await writeEffects(store, [{}])
  const workers = startWorkers({ hapax, ...others })
  expect(await bounded(failed.opened, 'a failure')).toBe('effects: idempotency_store_unavailable')
  expect(workers.status()).toMatchObject([{ name: 'effects', lastError: { inARow: 1 } }])
  isBroken = false
  expect(await bounded(worked.opened, 'a pass')).toMatchObject({ done: 1 })
  expect(workers.status()).toMatchObject([{ lastPassAt: expect.any(Number), lastError: undefined }])
  await workers.stop()
})

test('it ends by itself when its engine is closed', async () => {
  const store = opened()
  const hapax = hapaxOn(store, { call: () => 1 })
  await hapax.open()
  const workers = startWorkers({ hapax, ...others })
  await hapax.close()
  workers.nudge()
  await until(
    async () => workers.status()[0]?.lastError?.code,
    (code) => code === 'engine_closed',
  )
  await workers.stop()
})

test('an effect is carried out by its id for a consumer, once', async () => {
  const store = opened()
  const { call, keys } = provider('ok')
  const hapax = hapaxOn(store, { call, relay: async () => {} })
  await hapax.open()
  const [id = 0] = await writeEffects(store, [{ dueInMs: 60_000 }])
  const workers = startWorkers({ hapax, ...others })
  expect(await workers.carryOut(id)).toBe('done')
  expect(await workers.carryOut(id)).toBe('busy')
  expect(keys).toHaveLength(1)
  await workers.stop()
  const none = startWorkers({ hapax, ...others, effects: 'off' })
  await expect(none.carryOut(id)).rejects.toMatchObject({ code: 'policy_invalid' })
  await none.stop()
})

onPostgres('with pg-boss', (url) => {
  test('a job is an effect that is carried out, once', async () => {
    const fresh = await schemaOfTest(url)
    const boss = new PgBoss({ connectionString: url, max: 2, schema: `${fresh.schema}_boss`, schedule: false })
    boss.on('error', () => {})
    await boss.start()
    onTestFinished(async () => {
      await boss.stop({ graceful: false })
      await fresh.owner.query(`DROP SCHEMA ${fresh.schema}_boss CASCADE`)
    })
    await boss.createQueue('effects')
    const { store } = fresh.node()
    const { call, keys } = provider('ok')
    const hapax = hapaxOn(store, { call, relay: pgBossRelay(boss, 'effects') })
    await hapax.open()
    const [id = 0] = await writeEffects(store, [{}])
    const workers = startWorkers({ hapax, ...others })
    const said = gate<unknown>()
    await boss.work<{ effectId: number }>('effects', { pollingIntervalSeconds: 0.5 }, async ([job]) => {
      if (job !== undefined) said.open(await workers.carryOut(job.data.effectId))
    })
    expect(await bounded(said.opened, 'the job to be worked on')).toBe('done')
    expect(keys).toHaveLength(1)
    expect(await store.effects?.find(id)).toMatchObject({ state: 'done' })
    await workers.stop()
  })
})
