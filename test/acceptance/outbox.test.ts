import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { deadLetters, type EffectCall, type Engine, effects, workOnce } from 'hapax'
import { describe, expect, test } from 'vitest'
import { bounded, rejection } from '../support/waiting.js'
import { chargingGateway } from './support/charging-gateway.js'
import { type Ground, onEach } from './support/ground.js'
import { escrows, orders, request } from './support/orders.mjs'
import { testFile } from './support/test-file.js'
import { minutes, noon } from './support/times.js'

/** What a request leaves to a worker: written with the rows it follows from, carried out once, whoever is killed meanwhile. */

const program = fileURLToPath(new URL('./support/orders.mjs', import.meta.url))
type Kind = Parameters<typeof escrows>[1]

/** Receipts, and how often the provider was called for each. */
function receipts() {
  const sent: string[] = []
  const outbox = effects({
    'receipt.send': {
      call: async ({ payload }: EffectCall<{ to: string }>) => {
        if (payload.to === 'poison') throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' })
        return { id: `r_${sent.push(payload.to)}` }
      },
      providerId: ({ id }: { id: string }) => id,
      // Of what may have been sent, nobody says that it is dead; nor of what a provider may know by its key.
      classify: () => 'not_sent',
      retry: { attempts: 3 },
    },
  })
  return { sent, outbox }
}

/** A payment that asks for a receipt, in phases or as one transaction. */
function payments(ground: Ground, hapax: Engine<unknown>, mode: 'phases' | 'transaction' = 'phases') {
  const options = { version: 1, ...(mode === 'transaction' && { mode }) } as const
  const operation = hapax.operation('payments.create', options, (work, { to }: { to: string }) =>
    work.commit(async ({ tx, effect }) => {
      await ground.insert(tx, 'payments', to)
      effect('receipt.send', { to })
      return { status: 201, body: { to } }
    }),
  )
  return (key: string, to = 'ann') => hapax.perform({ scope: 'acme', key, operation, input: { to } })
}

onEach((fresh) => {
  const counts = async ({ rows }: Ground) => {
    const [keys, paid, jobs, open] = await Promise.all(
      (['records', 'payments', 'effects', 'effect_states'] as const).map(rows),
    )
    return { keys: keys?.length, payments: paid?.length, jobs: jobs?.length, open: open?.length }
  }

  test.each(['records', 'payments', 'effects'] as const)(
    'key, payment and job are one transaction: where %s takes no row, none of the three is there [S1-005 S1-017]',
    async (table) => {
      const ground = await fresh()
      const { sent, outbox } = receipts()
      const { hapax } = await ground.node(outbox)
      const pay = payments(ground, hapax, 'transaction')
      await ground.closeTable(table)
      await rejection(pay('k'))
      expect(await counts(ground)).toEqual({ keys: 0, payments: 0, jobs: 0, open: 0 })
      await ground.reopenTable(table)
      expect(await pay('k')).toMatchObject({ replayed: false })
      expect(await counts(ground)).toEqual({ keys: 1, payments: 1, jobs: 1, open: 1 })
      expect(sent).toEqual([])
    },
  )

  test('a job that cannot be written takes the payment and the completion of the key with it [S1-002 S1-017]', async () => {
    const ground = await fresh()
    const { hapax } = await ground.node(receipts().outbox)
    const pay = payments(ground, hapax)
    await ground.closeTable('effects')
    await rejection(pay('k'))
    expect(await ground.rows('payments')).toEqual([])
    expect(await ground.rows('effect_states')).toEqual([])
    const [record] = await ground.rows('records')
    expect(record).toMatchObject({ response_status_code: null, completed_at: null })
    expect(record?.status).not.toBe('completed')
    await ground.reopenTable('effects')
    expect(await pay('k')).toMatchObject({ replayed: false })
    expect(await counts(ground)).toEqual({ keys: 1, payments: 1, jobs: 1, open: 1 })
  })

  test('a request is answered before anybody is called, and only a worker calls [S1-003 S1-055]', async () => {
    const ground = await fresh()
    const { sent, outbox } = receipts()
    const { hapax } = await ground.node(outbox)
    const pay = payments(ground, hapax)
    expect(await pay('k')).toMatchObject({ value: { to: 'ann' } })
    await pay('k')
    expect(sent).toEqual([])
    await workOnce({ hapax })
    expect(sent).toEqual(['ann'])
  })

  test('a job waits as a row, and is done with the name that the provider gave to it [S1-018 S1-067]', async () => {
    const ground = await fresh()
    const { sent, outbox } = receipts()
    // Whoever takes the request need not be there any more: another node carries it out.
    const { hapax: first } = await ground.node(outbox)
    await payments(ground, first)('k')
    await first.close()
    expect(await ground.rows('effect_states')).toMatchObject([{ state: 'ready', provider_id: null, finished_at: null }])
    const { hapax } = await ground.node(outbox)
    await workOnce({ hapax })
    expect(await ground.rows('effect_states')).toMatchObject([{ state: 'done', provider_id: 'r_1' }])
    await workOnce({ hapax })
    expect(sent).toEqual(['ann'])
  })

  test('the order is: key taken, compared, rows and job in one commit, worker, its end, then only replays [S1-012]', async () => {
    const ground = await fresh()
    const { sent, outbox } = receipts()
    const { hapax, heard } = await ground.node(outbox)
    const pay = payments(ground, hapax)
    const key = randomUUID()
    await pay(key)
    await rejection(pay(key, 'bob'))
    await workOnce({ hapax })
    await pay(key)
    const told = heard.map(({ name }) => name).filter((name) => name !== 'worker_passed')
    expect(told).toEqual(['reserved', 'effects_written', 'completed', 'mismatched', 'effect_done', 'replayed'])
    expect(await counts(ground)).toEqual({ keys: 1, payments: 1, jobs: 1, open: 1 })
    expect(sent).toEqual(['ann'])
  })

  test('a job that fails each time is a dead letter after its attempts; the others go on, and nothing of it is lost [S1-077]', async () => {
    const ground = await fresh()
    const { sent, outbox } = receipts()
    const { hapax, heard } = await ground.node(outbox)
    const pay = payments(ground, hapax)
    await pay('bad', 'poison')
    for (let pass = 1; pass <= 6; pass++) {
      await ground.setTime(noon + pass * minutes)
      await pay(`good-${pass}`, `to-${pass}`)
      await workOnce({ hapax })
    }
    expect(sent).toHaveLength(6)
    const names = heard.map(({ name }) => name)
    expect(names.filter((name) => name === 'effect_retried')).toHaveLength(2)
    expect(names.filter((name) => name === 'effect_dead')).toHaveLength(1)
    if (hapax.outbox === undefined) throw new Error('there is no outbox')
    const { letters } = await deadLetters({ store: hapax.outbox, effects: outbox }).list()
    expect(letters).toMatchObject([{ effect: { state: 'dead', errorCode: 'ECONNREFUSED', finished: 3 } }])
    expect(new TextDecoder().decode(letters[0]?.effect.payload)).toContain('poison')
  })
})

describe('a process that is killed', () => {
  const inRequest = ['commit.open', 'commit.committed']
  const inWorker = ['leased', 'begun', 'answered', 'recorded', 'applying', 'settled'].map((point) => `effect.${point}`)
  const cases: readonly (readonly [point: string, Kind])[] = [
    ...[...inRequest, ...inWorker].map((point) => [point, 'can be asked'] as const),
    ...['commit.open', 'effect.leased', 'effect.answered'].map((point) => [point, 'honours'] as const),
  ]

  async function killedAt(point: string, kind: Kind) {
    const file = await testFile()
    file.sql('CREATE TABLE orders (who TEXT NOT NULL) STRICT')
    file.sql('CREATE TABLE escrows (provider_id TEXT NOT NULL) STRICT')
    await file.setTime(noon)
    const gateway = await chargingGateway()
    const child = spawn(process.execPath, [program, file.path, gateway.url, kind, point], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const [, signal] = await bounded(once(child, 'exit'), 'the process to be killed', 25_000)
    expect(signal).toBe('SIGKILL')
    const count = (table: string) => file.sql(`SELECT * FROM ${table}`).length
    const states = () => file.sql('SELECT state, provider_id FROM hapax_effect_states')
    const node = file.node({ effects: escrows(gateway.url, kind) })
    const operation = orders(node.hapax)
    return { file, gateway, count, states, ...node, retry: () => node.hapax.perform({ ...request, operation }) }
  }

  test.each(cases)(
    'at %s has written what it meant to do before it did it, and others do it, once (%s) [S1-037 S1-066 S1-103]',
    async (point, kind) => {
      const { file, gateway, count, states, hapax, retry } = await killedAt(point, kind)
      // All of the intent, or nothing of it; and nothing was asked for what is not written.
      const isWritten = point !== 'commit.open'
      expect([count('orders'), count('hapax_effects')]).toEqual(isWritten ? [1, 1] : [0, 0])
      expect(file.row('k').status).toBe(isWritten ? 'completed' : 'in_progress')
      const isSent = ['effect.answered', 'effect.recorded', 'effect.applying', 'effect.settled'].includes(point)
      expect(gateway.charges()).toBe(isSent ? 1 : 0)

      for (let minute = 1; minute <= 6; minute++) {
        await file.setTime(noon + minute * minutes)
        await workOnce({ hapax })
      }
      expect(gateway.charges()).toBe(1)
      expect(new Set(gateway.asked).size).toBe(1)
      if (kind === 'can be asked') expect(gateway.asked).toHaveLength(1)
      expect(states()).toEqual([{ state: 'done', provider_id: 'ch_1' }])
      expect(file.sql('SELECT * FROM escrows')).toEqual([{ provider_id: 'ch_1' }])
      expect(await retry()).toMatchObject({ value: { order: 'ann' }, replayed: true })
      expect(count('orders')).toBe(1)
    },
  )

  test.each(['effect.recorded', 'effect.applying'])(
    'at %s has kept what the provider calls it, though it is not done: no second call is made [S1-076]',
    async (point) => {
      const { file, gateway, count, states, hapax } = await killedAt(point, 'honours')
      expect(states()).toEqual([{ state: 'leased', provider_id: 'ch_1' }])
      expect(count('escrows')).toBe(0)
      await file.setTime(noon + minutes)
      await workOnce({ hapax })
      expect(states()).toEqual([{ state: 'done', provider_id: 'ch_1' }])
      expect(count('escrows')).toBe(1)
      expect(gateway.asked).toHaveLength(1)
    },
  )
})
