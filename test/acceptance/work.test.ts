import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isHapaxError } from 'hapax'
import { guard } from 'hapax/fetch'
import { describe, expect, test } from 'vitest'
import { bounded, rejection } from '../support/waiting.js'
import { type ChargingGateway, chargingGateway } from './support/charging-gateway.js'
import { request, rides } from './support/rides.mjs'
import { type FileNode, type TestFile, testFile } from './support/test-file.js'
import { days, noon } from './support/times.js'

/** Operations in phases, on a real file and with a provider behind a socket; processes are killed where it hurts. */

type Kind = Parameters<typeof rides>[2]

const program = fileURLToPath(new URL('./support/rides.mjs', import.meta.url))
const minute = 60_000

interface Shop {
  readonly file: TestFile
  readonly gateway: ChargingGateway
  readonly rows: () => { readonly rides: number; readonly orders: number }
}

async function shop(): Promise<Shop> {
  const file = await testFile()
  file.sql('CREATE TABLE rides (who TEXT NOT NULL) STRICT')
  file.sql('CREATE TABLE orders (who TEXT NOT NULL) STRICT')
  await file.setTime(noon)
  const count = (table: string) => file.sql(`SELECT who FROM ${table}`).length
  return { file, gateway: await chargingGateway(), rows: () => ({ rides: count('rides'), orders: count('orders') }) }
}

/** Another process makes a ride, and is killed there. */
async function killedAt({ file, gateway }: Shop, kind: Kind, point: string, time = 1): Promise<void> {
  const child = spawn(process.execPath, [program, file.path, gateway.url, kind, point, String(time)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [, signal] = await bounded(once(child, 'exit'), 'the process to be killed', 25_000)
  expect(signal).toBe('SIGKILL')
}

function operating({ file, gateway }: Shop, kind: Kind) {
  const node = file.node()
  const operation = rides(node.hapax, gateway.url, kind)
  const retry = () => node.hapax.perform({ ...request, operation })
  return { ...node, operation, retry }
}

/** What workers do, a minute at a time, until there is nothing left to do. */
async function worked({ file }: Shop, { hapax }: FileNode): Promise<void> {
  for (let now = noon + minute; now < noon + 20 * minute; now += minute) {
    await file.setTime(now)
    await hapax.chores.sweep(10)
    await hapax.chores.reconcile(10)
    await hapax.chores.resume(10)
  }
}

const points = [
  'phase.open',
  'phase.committed',
  'call.begun',
  'call.answered',
  'call.recorded',
  'commit.open',
  'commit.committed',
]
const oneOfEach = { rides: 1, orders: 1 }

describe('a worker that is killed', () => {
  test.each(points)(
    'at %s is made up for by others: one charge, one order, where the provider honours the key [S3-45 S3-71]',
    async (point) => {
      const all = await shop()
      await killedAt(all, 'honours', point)
      const node = operating(all, 'honours')
      await worked(all, node)
      expect(all.rows()).toEqual(oneOfEach)
      expect(all.gateway.charges()).toBe(1)
      expect(new Set(all.gateway.asked).size).toBe(1)
      expect(await node.retry()).toMatchObject({ value: { charge: { id: 'ch_1' } }, replayed: true })
    },
  )

  test.each(points)(
    'at %s, with one that can only be asked: no charge is ever sent twice [S3-45 S3-71]',
    async (point) => {
      const all = await shop()
      await killedAt(all, 'can be asked', point)
      const node = operating(all, 'can be asked')
      await worked(all, node)
      expect(all.rows()).toEqual(oneOfEach)
      expect(all.gateway.charges()).toBe(1)
      expect(all.gateway.asked).toHaveLength(1)
    },
  )

  test('after its second phase: the retry goes on with the third, and repeats neither [S0-37]', async () => {
    const all = await shop()
    await killedAt(all, 'can be asked', 'call.recorded')
    expect(all.file.row('k')).toMatchObject({ recovery_point: 'charge_created' })
    await all.file.setTime(noon + minute)
    const node = operating(all, 'can be asked')
    expect(await node.retry()).toMatchObject({ value: { charge: { id: 'ch_1' } }, replayed: false })
    expect(all.gateway.asked).toHaveLength(1)
    expect(all.rows()).toEqual(oneOfEach)
    expect(node.heard.map(({ name }) => name)).toContain('resumed')
  })

  test('holds its key while its lease lives, and from then on the retry resumes [S3-07]', async () => {
    const all = await shop()
    await killedAt(all, 'honours', 'phase.committed')
    const node = operating(all, 'honours')
    await all.file.setTime(Number(all.file.row('k').locked_until) - 1)
    expect(await codeOf(node.retry())).toBe('idempotency_key_in_progress')
    await all.file.setTime(Number(all.file.row('k').locked_until))
    expect(await node.retry()).toMatchObject({ replayed: false })
    expect(node.heard).toContainEqual(
      expect.objectContaining({ name: 'resumed', event: expect.objectContaining({ recoveryPoint: 'ride_created' }) }),
    )
    expect(all.rows()).toEqual(oneOfEach)
  })

  test.each(['honours', 'can be asked'] as const)(
    'after it charged and before it recorded the order (%s) loses neither, and charges once [S3-42 S2-048]',
    async (kind) => {
      const all = await shop()
      await killedAt(all, kind, 'call.answered')
      expect(all.gateway.charges()).toBe(1)
      expect(all.rows().orders).toBe(0)
      const node = operating(all, kind)
      await worked(all, node)
      expect(all.gateway.charges()).toBe(1)
      expect(all.rows()).toEqual(oneOfEach)
    },
  )

  test.each(['single.taken', 'single.written', 'single.committed'])(
    'at %s of one transaction leaves all of it or nothing, and the retry makes it once [S2-048]',
    async (point) => {
      const all = await shop()
      await killedAt(all, 'one transaction', point)
      const isThere = point === 'single.committed'
      expect(all.rows()).toEqual(isThere ? oneOfEach : { rides: 0, orders: 0 })
      const { retry } = operating(all, 'one transaction')
      expect(await retry()).toMatchObject({ replayed: isThere })
      expect(all.rows()).toEqual(oneOfEach)
    },
  )

  test('does not run a guarded request inside of its own a second time: its key is derived [G-20]', async () => {
    const all = await shop()
    await killedAt(all, 'nested', 'commit.open', 2)
    expect(all.rows()).toEqual({ rides: 1, orders: 0 })
    await all.file.setTime(noon + minute)
    const { retry } = operating(all, 'nested')
    expect(await retry()).toMatchObject({ value: { seat: { seat: 'ann' } }, replayed: false })
    expect(all.rows()).toEqual(oneOfEach)
    const keys = all.file.sql('SELECT idempotency_key FROM hapax_records ORDER BY id').map((row) => row.idempotency_key)
    expect(keys).toHaveLength(2)
    expect(keys[1]).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the phases of a ride', () => {
  test('are started, ride_created, charge_created, finished, each foreign effect in its own [S3-43]', async () => {
    const all = await shop()
    const seen: unknown[] = []
    all.gateway.meanwhile = () => seen.push([all.file.row('k').recovery_point, all.rows(), all.gateway.charges()])
    const { retry, heard } = operating(all, 'can be asked')
    await retry()
    expect(seen).toEqual([['ride_created', { rides: 1, orders: 0 }, 0]])
    const told = heard.flatMap(({ name, event }) =>
      name === 'phase_committed' ? [(event as { phase: string }).phase] : [],
    )
    expect(told).toEqual(['ride_created', 'charge_created'])
    expect(all.file.row('k')).toMatchObject({ recovery_point: 'finished', status: 'completed' })
  })

  test('have one effect on the outside at most: a second is an error, and nothing is sent for it [S3-44 S3-46 S3-58]', async () => {
    const all = await shop()
    const { hapax } = all.file.node()
    const policy = hapax.policy({ name: 'rides.create' })
    const charge = {
      run: ({ key }: { key: string }) =>
        fetch(all.gateway.url, { method: 'POST', headers: { 'idempotency-key': key } }).then((r) => r.json()),
    }
    const codes: unknown[] = []
    await hapax.run({ scope: 'acme', key: 'k', policy }, async (work) => {
      await work.transaction('ride_created', async ({ tx }) => {
        codes.push(await codeOf(work.call('inside', charge)))
        await tx.run({ sql: "INSERT INTO rides (who) VALUES ('ann')" })
      })
      expect(all.file.row('k').recovery_point).toBe('ride_created')
      await work.call('charge_created', {
        async run(at) {
          codes.push(await codeOf(work.call('second', charge)))
          return charge.run(at)
        },
      })
      return 'done'
    })
    expect(codes).toEqual(['second_effect', 'second_effect'])
    expect(all.gateway.asked).toHaveLength(1)
    expect(all.rows().rides).toBe(1)
  })

  test('hold no transaction open while the provider is asked, and cannot [S1-038 S2-111]', async () => {
    const all = await shop()
    const written: number[] = []
    // With a transaction open somewhere, nobody else could write into the file.
    all.gateway.meanwhile = () => {
      all.file.sql("INSERT INTO payments (made_by) VALUES ('somebody else')")
      written.push(all.file.sql('SELECT id FROM payments').length)
    }
    const { retry, hapax } = operating(all, 'can be asked')
    await retry()
    expect(written).toEqual([1])
    const policy = hapax.policy({ name: 'rides.eager', mode: 'transaction' })
    const eager = hapax.run({ scope: 'acme', key: 'other', policy }, (work) =>
      work.call('charge', { run: () => fetch(all.gateway.url, { method: 'POST' }).then(() => 1) }),
    )
    expect(await codeOf(eager)).toBe('phase_unsupported')
    expect(all.gateway.asked).toHaveLength(1)
  })

  test('send the provider the same key on every attempt, and it is found by that key [S1-039 S1-075]', async () => {
    const all = await shop()
    all.gateway.does = 'lands'
    const { retry, store } = operating(all, 'honours')
    await rejection(retry())
    await rejection(retry())
    all.gateway.does = 'answers'
    await retry()
    expect(all.gateway.asked).toHaveLength(3)
    expect(new Set(all.gateway.asked).size).toBe(1)
    expect(all.gateway.charges()).toBe(1)
    const [key = ''] = all.gateway.asked
    expect((await store.calls.find(key))?.record).toMatchObject({ key: 'k', scope: 'acme' })
  })
})

describe('a charge that nobody knows of', () => {
  const inDoubt = async (does: ChargingGateway['does']) => {
    const all = await shop()
    all.gateway.does = does
    const node = operating(all, 'can be asked')
    expect(await codeOf(node.retry())).toBe('outcome_unknown')
    all.gateway.does = 'answers'
    return { ...all, ...node, pass: () => node.hapax.chores.reconcile(10) }
  }

  test('is never sent again blindly: charged is gone on with, not charged is made anew, no answer stays unknown [S1-047]', async () => {
    const charged = await inDoubt('lands')
    expect(await charged.pass()).toEqual(['settled'])
    await charged.retry()
    expect(charged.file.row('k').status).toBe('completed')
    expect(charged.gateway.asked).toHaveLength(1)

    const lost = await inDoubt('loses')
    expect(await lost.pass()).toEqual(['put_off'])
    await lost.file.setTime(noon + minute)
    expect(await lost.pass()).toEqual(['settled'])
    expect(lost.file.row('k').status).toBe('failed_retryable')
    await lost.retry()
    expect(lost.gateway.charges()).toBe(1)

    const silent = await inDoubt('lands')
    silent.gateway.says = 'outage'
    expect(await silent.pass()).toEqual(['outage'])
    expect(silent.file.row('k').status).toBe('unknown')
    expect(await codeOf(silent.retry())).toBe('outcome_unknown')
    expect(silent.gateway.asked).toHaveLength(1)
  })

  test('is asked about when its time has come and not before, and each state of the provider has its meaning [S2-115]', async () => {
    const { pass, gateway, file } = await inDoubt('lands')
    gateway.says = 'nothing'
    expect(await pass()).toEqual(['put_off'])
    const after = Number(file.row('k').reconcile_after)
    expect(after).toBeGreaterThan(noon)
    await file.setTime(after - 1)
    expect(await pass()).toEqual([])
    await file.setTime(after)
    gateway.says = 'outage'
    expect(await pass()).toEqual(['outage'])
    await file.setTime(Number(file.row('k').reconcile_after))
    gateway.says = 'truth'
    expect(await pass()).toEqual(['settled'])
    expect(file.row('k')).toMatchObject({ status: 'failed_retryable', recovery_point: 'charge_created' })
  })
})

test('a flow of many days keeps its key for longer, in the row and in the header [S1-088]', async () => {
  const { file } = await shop()
  const { hapax } = file.node()
  const handle = guard(hapax, { name: 'rides.create', scope: () => 'acme' }, async (_request: Request, work) => {
    await work.extend('30d')
    return Response.json({ ride: 1 }, { status: 201 })
  })
  const send = async () => {
    const headers = { 'idempotency-key': '"k"' }
    return handle(new Request('http://localhost/rides', { method: 'POST', headers }))
  }
  const first = await send()
  expect(Number(file.row('k').expires_at)).toBe(noon + 30 * days)
  expect(new Date(first.headers.get('idempotency-key-expires') ?? '').getTime()).toBe(noon + 30 * days)
  await file.setTime(noon + 29 * days)
  const replay = await send()
  expect(replay.headers.get('idempotent-replayed')).toBe('true')
  expect(replay.headers.get('idempotency-key-expires')).toBe(first.headers.get('idempotency-key-expires'))
})

test('the docs say what is outside: whatever does not commit with the transaction [S1-019]', () => {
  const guide = readFileSync(new URL('../../docs/guides/work.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ')
  expect(guide).toContain('**Outside is whatever does not commit with your transaction**')
  expect(guide).toContain('another database')
})

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await rejection(promise)
  return isHapaxError(error) ? error.code : error
}
