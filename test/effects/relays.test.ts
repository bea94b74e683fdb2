import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Queue, Worker } from 'bullmq'
import { bullmqRelay, effects, effectWorker, httpRelay, type LogEntry, type Relay } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort, noRedis, redisBinary, startRedis } from '../support/redis-server.js'
import { bounded, gate } from '../support/waiting.js'
import { kind, provider, writeEffects } from './given.js'

/** Relays as they are used: the other side is a process of its own, and a queue is a real one. */

const secret = `whsec_${randomBytes(32).toString('base64')}`
const message = { effectId: 7, kind, key: 'k', payload: { a: 1 } }

async function outbox() {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-relays-'))
  const path = join(folder, 'a.db')
  const store = sqliteStore({ path })
  await store.open()
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const logged: LogEntry[] = []
  const { call, keys } = provider('ok')
  const workerOf = (relay: Relay) =>
    effectWorker({
      store: store.effects,
      effects: effects({ [kind]: { call, relay, honoursKeyFor: '24h', visibility: '1m' } }),
      log: (entry) => logged.push(entry),
    })
  return { path, store, logged, keys, workerOf }
}

/** The lines that a process says, each by what it is about. */
async function endpoint(path: string) {
  const script = new URL('./fixtures/endpoint.mjs', import.meta.url).pathname
  const child = spawn(process.execPath, [script, path, secret], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const said = new Map<string, ReturnType<typeof gate<unknown>>>()
  const about = (what: string) => {
    const one = said.get(what) ?? gate<unknown>()
    said.set(what, one)
    return one
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    for (const [what, value] of Object.entries(JSON.parse(line))) about(what).open(value)
  })
  const heard = (what: string) => bounded(about(what).opened, `the endpoint to say ${what}`)
  return { heard, url: `http://127.0.0.1:${await heard('port')}` }
}

describe('an endpoint in another process', () => {
  test('is handed an effect that it verifies and carries out, and the row says so', async () => {
    const { path, store, keys, workerOf } = await outbox()
    const { heard, url } = await endpoint(path)
    const [id = 0] = await writeEffects(store, [{}])
    await workerOf(httpRelay(url, { secret })).runOnce()
    expect(await heard('ended')).toBe('done')
    const effect = await store.effects.find(id)
    expect(effect).toMatchObject({ state: 'done' })
    expect(await heard('called')).toBe(effect?.downstreamKey)
    expect(keys).toEqual([])
  })

  test('that answers 500 leaves the effect to be handed over again', async () => {
    const { path, store, logged, workerOf } = await outbox()
    const { url } = await endpoint(path)
    const [id = 0] = await writeEffects(store, [{}])
    await workerOf(httpRelay(`${url}/fails`, { secret })).runOnce()
    expect(await store.effects.find(id)).toMatchObject({ state: 'ready', started: 0 })
    expect(logged).toMatchObject([{ code: 'relay_failed', message: expect.stringContaining('http_500') }])
  })

  test('that does not answer is not waited for, and its connection is closed', async () => {
    const { path } = await outbox()
    const { heard, url } = await endpoint(path)
    const relayed = httpRelay(`${url}/hangs`, { secret, timeout: '200ms' })(message)
    await expect(bounded(relayed, 'the relay')).rejects.toMatchObject({ code: 'timeout' })
    expect(await heard('closed')).toBe('/hangs')
  })

  test('that is not there is told by the reason', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    await expect(httpRelay(url, { secret })(message)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

test.skipIf(redisBinary === undefined)(
  `a job of BullMQ is an effect that is carried out, once${redisBinary === undefined ? ` (skipped: ${noRedis})` : ''}`,
  async () => {
    const server = await startRedis()
    onTestFinished(() => server.end())
    const connection = { host: '127.0.0.1', port: server.port, maxRetriesPerRequest: null }
    const { store, keys, workerOf } = await outbox()
    const queue = new Queue('effects', { connection })
    const worker = workerOf(bullmqRelay(queue))
    const ended = gate<unknown>()
    const jobs = new Worker('effects', async ({ data }) => ended.open(await worker.carryOut(data.effectId)), {
      connection,
    })
    onTestFinished(async () => {
      await jobs.close(true)
      await queue.close()
    })
    const [id = 0] = await writeEffects(store, [{}])
    await worker.runOnce()
    expect(await bounded(ended.opened, 'the job to be worked on')).toBe('done')
    expect(await worker.carryOut(id)).toBe('busy')
    expect(keys).toHaveLength(1)
    expect(await store.effects.find(id)).toMatchObject({ state: 'done' })
  },
)
