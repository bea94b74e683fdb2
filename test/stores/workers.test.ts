import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, effects, engine, keyOf, type Store, scopeOf, startWorkers, workOnce } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { workerBounds } from '../../src/kernel/limits.js'
import { pinSqliteClock } from '../../src/stores/sqlite/testing.js'
import { manualClock } from '../support/manual-clock.js'
import { onPostgres } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'
import { gate, until } from '../support/waiting.js'

/** The workers on databases whose clock is in the test's hand. */

interface Bed {
  /** Another node: a store with connections of its own. */
  open(): Promise<Store<unknown>>
  /** Moves the database's clock to so long after the beginning. */
  at(ms: number): Promise<void>
}

const startedAt = Date.UTC(2040, 1, 29, 12)
const name = { scope: scopeOf('acme'), key: keyOf('k') }
const input = { cents: 500 }
const policy = { version: 1, retention: '1d' } as const
const leaseMs = 30_000
const quiet = () => {}

function showing(fresh: () => Promise<Bed>) {
  const node = async (bed: Bed, options: Partial<Parameters<typeof engine>[0]> = {}): Promise<Engine<unknown>> => {
    const hapax = engine<unknown>({ store: await bed.open(), log: quiet, ...options } as never)
    onTestFinished(() => hapax.close())
    return hapax
  }

  test('of operations that two nodes find half-done at once, each is finished once', async () => {
    const bed = await fresh()
    const ran = new Map<string, number>()
    const define = (hapax: Engine<unknown>) =>
      hapax.operation('payments.create', policy, async (work, { n }: { n: number }) => {
        ran.set(`${n}`, (ran.get(`${n}`) ?? 0) + 1)
        if (work.attempt === 1) throw new Error('the disk was full')
        return { status: 201, body: { n } }
      })
    const nodes = [await node(bed), await node(bed), await node(bed)]
    const [operation] = nodes.map(define)
    for (let n = 0; n < 20; n++)
      await nodes[0]
        ?.perform({ scope: 'acme', key: `k-${n}`, operation: operation as never, input: { n } })
        .catch(quiet)
    await bed.at(60_000)
    await Promise.all(nodes.map((hapax) => workOnce({ hapax })))
    expect([...ran.values()]).toEqual(Array(20).fill(2))
    for (let n = 0; n < 20; n++)
      expect((await nodes[1]?.find({ ...name, key: keyOf(`k-${n}`) }))?.state).toBe('completed')
  })

  test('evidence that came before the doubt settles it at the sweep, and the operation goes on', async () => {
    const bed = await fresh()
    const begun = gate<string>()
    const define = (hapax: Engine<unknown>, run: (key: string) => Promise<unknown>) =>
      hapax.operation('payments.create', policy, async (work) => {
        const charge = await work.call('charged', { run: ({ key }) => run(key) })
        return { status: 201, body: { charge } }
      })
    // Its clock stands, so that it renews nothing: a process that is frozen in the middle of a call.
    const held = await bed.open()
    onTestFinished(() => held.close())
    const frozen = engine<unknown>({ store: held, clock: manualClock(), log: quiet })
    const operation = define(frozen, (key) => {
      begun.open(key)
      return new Promise(() => {})
    })
    void frozen.perform({ ...name, operation, input }).catch(quiet)
    const downstreamKey = await begun.opened
    const calls: string[] = []
    const alive = await node(bed)
    define(alive, async (key) => calls.push(key))
    await alive.testify({
      downstreamKey,
      says: 'landed',
      result: Buffer.from('{"id":"ch_1"}'),
      by: 'webhook:x',
      why: 'evt_1',
    })
    expect((await alive.find(name))?.state).toBe('in_progress')
    await bed.at(leaseMs + 1)
    const done = await workOnce({ hapax: alive, reaper: 'off' })
    expect(done).toContainEqual({ name: 'sweeper', did: { swept: 1 } })
    const record = await alive.find(name)
    expect(record).toMatchObject({ state: 'completed', evidence: [{ by: 'webhook:x', says: 'landed' }] })
    expect(calls).toEqual([])
  })

  test('an effect is carried out at once by the node that wrote it, and is in its status', async () => {
    const bed = await fresh()
    const sent: unknown[] = []
    const outbox = effects({
      'receipt.send': { call: async ({ payload }: { payload: unknown }) => sent.push(payload) },
    })
    const hapax = await node(bed, { effects: outbox as never })
    const operation = hapax.operation('payments.create', policy, (work) =>
      work.commit(({ effect }) => {
        effect('receipt.send', { to: 'a@example.com' })
        return { status: 201 }
      }),
    )
    const workers = startWorkers({ hapax })
    onTestFinished(() => workers.stop())
    expect(workers.status().map(({ name }) => name)).toContain('effects')
    await hapax.perform({ ...name, operation, input })
    await until(
      async () => sent.length,
      (length) => length === 1,
      'the effect',
    )
    const status = async () => workers.status().find(({ name }) => name === 'effects')
    // The last pass may be an idle one by the time that anybody looks; that there was work stays.
    await until(status, (effects) => effects?.lastWorkAt !== undefined, 'the status')
  })

  test('effects that are done and events of webhooks are forgotten after their time, and not before', async () => {
    const bed = await fresh()
    const outbox = effects({ 'receipt.send': { call: async () => 'sent' } })
    const hapax = await node(bed, { effects: outbox as never })
    const operation = hapax.operation('payments.create', policy, (work) =>
      work.commit(({ effect }) => {
        effect('receipt.send', {})
        return { status: 201 }
      }),
    )
    await hapax.perform({ ...name, operation, input })
    await hapax.inbox?.receive({ provider: 'x', eventId: 'evt_1' }, async () => ({ value: 1, testimonies: [] }))
    const reaped = async () => (await workOnce({ hapax })).find(({ name }) => name === 'reaper')
    expect(await reaped()).toEqual({ name: 'reaper', did: {} })
    await bed.at(workerBounds.keepEventsMs + 1)
    expect(await reaped()).toMatchObject({ did: { buried: 1, effects: 1, events: 1 } })
    expect((await hapax.outbox?.list({ limit: 10 }))?.effects).toEqual([])
  })
}

describe('workers on SQLite', () => {
  showing(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hapax-workers-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'a.db')
    const first = sqliteStore({ path })
    await first.open()
    await first.close()
    const at = (ms: number) => pinSqliteClock(path, startedAt + ms)
    await at(0)
    return { at, open: async () => sqliteStore({ path }) as Store<unknown> }
  })
})

onPostgres('workers on PostgreSQL', (url) => {
  showing(async () => {
    const schema = await schemaOfTest(url)
    await schema.setTime(startedAt)
    return {
      at: (ms) => schema.setTime(startedAt + ms),
      open: async () => schema.node({ durability: 'unchecked' }).store as Store<unknown>,
    }
  })
})
