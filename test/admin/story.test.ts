import { engine, workOnce } from 'hapax'
import { adminApi, everything } from 'hapax/admin'
import { memoryStore } from 'hapax/memory'
import { expect, onTestFinished, test } from 'vitest'
import { manualClock } from '../support/manual-clock.js'
import { gate } from '../support/waiting.js'

/** A story is whole: what happened is told also when it is long over, and what is not kept is said. */

const ann = { who: 'ann', may: everything } as const

/** A payment whose provider has it, on a node that stops in the middle, and another node that finds out. */
async function killedPayment() {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const sent = gate()
  // Time stands still for who was killed: it renews nothing, and says nothing more.
  const killed = engine({ store, log: () => {}, clock: { ...manualClock(), now: clock.now } })
  const survivor = engine({ store, log: () => {}, clock })
  const api = adminApi({ hapax: survivor, authorize: () => ann })
  onTestFinished(async () => {
    api.close()
    await survivor.close()
  })
  const [before] = [killed, survivor].map((hapax) =>
    hapax.operation('payments.create', { version: 1 }, async (work) => {
      const charge = await work.call('charged', {
        run() {
          sent.open()
          return new Promise<{ id: string }>(() => {})
        },
        lookup: () => ({ landed: true, result: { id: 'ch_1' } }),
      })
      return { status: 201, body: charge }
    }),
  )
  if (before === undefined) throw new Error('There are two.')
  const createdAt = new Date(clock.now()).toISOString()
  void killed.perform({ scope: 'acme', key: 'k', operation: before, input: {} }).catch(() => {})
  await sent.opened
  return {
    clock,
    createdAt,
    hapax: survivor,
    async story() {
      const response = await api(new Request('http://admin/records/story?scope=acme&key=k'))
      return (await response.json()) as { sentences: string[] } & Record<string, unknown>
    },
  }
}

test('of a payment that was killed, swept and reconciled: both runs, the doubt, what ended it, and what is not kept', async () => {
  const { clock, createdAt, hapax, story } = await killedPayment()
  await clock.advance(40_000)
  const sweptAt = new Date(clock.now()).toISOString()
  await workOnce({ hapax, reconciler: 'off', resumer: 'off' })
  expect(await story()).toMatchObject({
    record: { state: 'unknown' },
    doubts: [{ since: sweptAt, error_code: 'in_progress_lock_expired', fence: 1, looks: 0 }],
  })
  await clock.advance(60_000)
  const settledAt = new Date(clock.now()).toISOString()
  await workOnce({ hapax })
  await workOnce({ hapax })
  const told = await story()
  expect(told).toMatchObject({
    record: { state: 'completed', attempt: 2 },
    reservations: { count: 2, first_at: createdAt, last_at: settledAt },
    phases: 'not_kept',
    calls: [{ phase: 'charged', state: 'landed', begun_at: createdAt }],
    doubts: [
      {
        since: sweptAt,
        error_code: 'in_progress_lock_expired',
        fence: 1,
        looks: 0,
        ended: { says: 'landed', by: 'reconciler', at: settledAt },
      },
    ],
  })
  expect(told.sentences).toContain(
    `It was in doubt from ${sweptAt} until ${settledAt}: its process vanished or hung, nobody renewed its claim, and a sweep found it (in_progress_lock_expired). That was its claim 1.`,
  )
  expect(told.sentences).toContain(
    'Which phases it went through is not kept once it is answered; its calls and effects are.',
  )
  expect(told.sentences.filter((sentence) => sentence.startsWith('reconciler said'))).toHaveLength(1)
})

test('a result that the handler says it cannot use is refused, and the doubt stays; one that it can use ends it', async () => {
  const hapax = engine({ store: memoryStore(), log: () => {} })
  const api = adminApi({ hapax, authorize: () => ann })
  onTestFinished(async () => {
    api.close()
    await hapax.close()
  })
  let asked = 0
  const operation = hapax.operation('payments.create', { version: 1 }, async (work) => {
    const { status } = await work.call('charged', {
      run: (): { status: string } => {
        throw new Error('socket hang up')
      },
      lookup: () => void asked++,
      accepts: (result) => (result as { status: string }).status.length > 0,
    })
    return { status: 201, body: status }
  })
  const pay = () => hapax.perform({ scope: 'acme', key: 'k', operation, input: {} })
  await pay().catch(() => {})
  const settle = async (result: unknown) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
    const body = { scope: 'acme', key: 'k', says: 'landed', result, evidence: 'seen', reason: 'a test' }
    const response = await api(
      new Request('http://admin/records/settle', { method: 'POST', headers, body: JSON.stringify(body) }),
    )
    return { status: response.status, json: (await response.json()) as object }
  }
  for (const unusable of [{ id: 'ch_1' }, null, 'ch_1', { status: '' }])
    expect(await settle(unusable), JSON.stringify(unusable)).toMatchObject({ status: 422 })
  expect(await settle({ id: 'ch_1' })).toMatchObject({ json: { code: 'result_unusable' } })
  expect(asked).toBe(0)
  expect(await settle({ status: 'succeeded' })).toMatchObject({ status: 200 })
  expect(await pay()).toMatchObject({ value: 'succeeded' })
})
