import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { type FreshSchema, schemaOfTest } from '../support/postgres-schema.js'
import { writeEffects } from './given.js'

/**
 * Two workers in processes of their own share an outbox; one of them is killed every second, without warning, and another
 * takes its place. The provider is a third process whose ledger is on disk before it answers, so what it says cannot be
 * wrong together with us.
 */
onPostgres('of workers that are killed every second', (url) => {
  test('each effect is done exactly once by a provider that honours keys', { timeout: 120_000 }, async () => {
    const schema = await schemaOfTest(url)
    const provider = await startedProvider('--honours')
    await written(schema, 10_000)
    expect(await survived(schema, provider, 'yes')).toBeGreaterThanOrEqual(3)
    const ledger = await provider.ledger()
    expect(ledger).toHaveLength(10_000)
    expect(new Set(ledger.map(({ key }) => key)).size).toBe(10_000)
    expect(await states(schema)).toEqual({ done: '10000' })
  })

  test('none is done twice by one that does not, and every doubt is on record', { timeout: 120_000 }, async () => {
    const schema = await schemaOfTest(url)
    const provider = await startedProvider()
    await written(schema, 1_500)
    expect(await survived(schema, provider, 'no')).toBeGreaterThanOrEqual(1)
    const ledger = await provider.ledger()
    const counts = await states(schema)
    expect(new Set(ledger.map(({ key }) => key)).size).toBe(ledger.length)
    expect(Number(counts.done ?? 0) + Number(counts.unknown ?? 0)).toBe(1_500)
    expect(ledger.length).toBeGreaterThanOrEqual(Number(counts.done ?? 0))
    const done = await schema.owner.query(
      `SELECT e.downstream_key AS key FROM ${schema.schema}.effects e JOIN ${schema.schema}.effect_states s ON s.effect_id = e.id WHERE s.state = 'done'`,
    )
    const keys = new Set(ledger.map(({ key }) => key))
    expect(done.rows.filter(({ key }) => !keys.has(key))).toEqual([])
  })
})

/** Some twenty seconds on a machine that has nothing else to do. */
const patienceMs = 100_000

/**
 * How long the provider takes. It bounds what two workers can do in a second, however quick the machine is, so that there is
 * work left when they are killed.
 */
const answersAfterMs = 150

interface Provider {
  readonly url: string
  ledger(): Promise<readonly { readonly key: string }[]>
}

async function startedProvider(...flags: readonly string[]): Promise<Provider> {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-ledger-'))
  const file = fileURLToPath(new URL('./provider.mjs', import.meta.url))
  const child = spawn(process.execPath, [file, `--ledger=${join(folder, 'ledger')}`, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    await ended(child)
    rmSync(folder, { recursive: true, force: true })
  })
  const { port } = JSON.parse(await firstLine(child))
  const at = `http://127.0.0.1:${port}`
  await fetch(`${at}/behave`, { method: 'POST', body: JSON.stringify({ delayMs: answersAfterMs }) })
  return {
    url: at,
    ledger: async () => (await (await fetch(`${at}/ledger`)).json()) as { key: string }[],
  }
}

/**
 * Lets two workers work, and kills one of them a second after it began, again and again, until all is done. Gives how often
 * one was killed while there was work left.
 */
async function survived(fresh: FreshSchema, provider: Provider, honours: 'yes' | 'no'): Promise<number> {
  const { url, schema } = fresh
  const file = fileURLToPath(new URL('./fixtures/worker.mjs', import.meta.url))
  const env = { ...process.env, DATABASE_URL: url, SCHEMA: schema, PROVIDER: provider.url, HONOURS: honours }
  const start = () => {
    const worker = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => ended(worker))
    return worker
  }
  await firstLine(start())
  const until = performance.now() + patienceMs
  let kills = 0
  while ((await left(fresh)) > 0) {
    if (performance.now() > until) throw new Error(`it was not done in time: ${JSON.stringify(await states(fresh))}`)
    const victim = start()
    await firstLine(victim)
    await pause(1_000)
    await ended(victim)
    if ((await left(fresh)) > 0) kills++
  }
  return kills
}

async function written({ node }: FreshSchema, count: number): Promise<void> {
  const { store } = node()
  await store.open()
  for (let from = 0; from < count; from += 500) {
    const effects = Array.from({ length: Math.min(500, count - from) }, () => ({}))
    await writeEffects(store, effects, 'blindly')
  }
}

async function left(schema: FreshSchema): Promise<number> {
  const counts = await states(schema)
  return Number(counts.ready ?? 0) + Number(counts.leased ?? 0)
}

async function states({ owner, schema }: FreshSchema): Promise<Record<string, string>> {
  const { rows } = await owner.query(`SELECT state, count(*) AS count FROM ${schema}.effect_states GROUP BY state`)
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('it says nothing')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('it ended without a word')
}
