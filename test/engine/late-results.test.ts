import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { bounded, gate, rejection, until } from '../support/waiting.js'
import { insertRide, request, type WorkBench, workBench } from '../support/work-bench.js'

const charge = { id: 'ch_late' }

/** A ride whose provider answers when the test says so, whatever becomes of the call meanwhile. */
function rides(hapax: WorkBench['hapax']) {
  const sent: string[] = []
  const reached = gate()
  const answers = gate<unknown>()
  const operation = hapax.operation('rides.create', { version: 1 }, async (work, input: { who: string }) => {
    const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, input.who))
    const charge = await work.call('charge_created', {
      run: ({ key }) => {
        sent.push(key)
        reached.open()
        return answers.opened
      },
    })
    return work.commit(() => ({ status: 201, body: { ride, charge } }))
  })
  return { operation, sent, reached: () => bounded(reached.opened, 'the call'), answer: answers.open }
}

async function settled(bench: WorkBench) {
  return until(
    () => bench.record(),
    (record) => record?.state === 'failed_retryable' && record.recoveryPoint === 'charge_created',
    'the settlement',
  )
}

/** A holder that was frozen inside of its call, until a sweeper found its lease to be over. */
async function overtaken(options: Parameters<typeof workBench>[0] = {}) {
  const bench = await workBench(options)
  const mine = rides(bench.hapax)
  const frozen = bench.node()
  const slow = rides(frozen)
  const slowly = rejection(frozen.perform({ ...request, operation: slow.operation }))
  await slow.reached()
  await bench.travel(31_000)
  expect(await bench.hapax.chores.sweep(10)).toMatchObject([{ state: 'unknown' }])
  return { bench, mine, slow, slowly }
}

test('what a call gave is kept when its holder lost the claim meanwhile, and settles the doubt at once', async () => {
  const { bench, mine, slow, slowly } = await overtaken()
  slow.answer(charge)
  await slowly
  expect(await settled(bench)).toMatchObject({ isBegun: false, evidence: [{ says: 'landed', by: 'holder' }] })
  expect(await bench.hapax.perform({ ...request, operation: mine.operation })).toMatchObject({ value: { charge } })
  expect([...slow.sent, ...mine.sent]).toHaveLength(1)
})

test('what a call gave after its time was over settles the doubt that this had left', async () => {
  const bench = await workBench()
  const { operation, reached, answer, sent } = rides(bench.hapax)
  const performing = rejection(bench.hapax.perform({ ...request, operation }))
  await reached()
  await bench.clock.advance(10_000)
  expect(await performing).toMatchObject({ code: 'outcome_unknown' })
  expect((await bench.record())?.state).toBe('unknown')
  answer(charge)
  await settled(bench)
  expect(await bench.hapax.perform({ ...request, operation })).toMatchObject({ value: { charge } })
  expect(sent).toHaveLength(1)
})

test('a call that was given up, and returns nothing for it, stays in doubt', async () => {
  const bench = await workBench()
  const { operation, reached, answer, sent } = rides(bench.hapax)
  const performing = rejection(bench.hapax.perform({ ...request, operation }))
  await reached()
  await bench.clock.advance(10_000)
  await performing
  answer(undefined)
  await bench.clock.advance(1)
  expect(await bench.store.calls.testimonies(sent)).toEqual([])
  expect((await bench.record())?.state).toBe('unknown')
})

test('a call that returned nothing has landed all the same when its holder lost the claim behind it', async () => {
  const { bench, slow, slowly } = await overtaken()
  slow.answer(undefined)
  await slowly
  expect(await settled(bench)).toMatchObject({ evidence: [{ says: 'landed', by: 'holder' }] })
})

test('what a call gave too late is sealed as the results of phases are', async () => {
  const keys = { current: 'k1', keys: { k1: randomBytes(32) } }
  const { bench, slow, slowly } = await overtaken({ encryption: keys })
  slow.answer(charge)
  await slowly
  await settled(bench)
  const [kept] = await bench.store.calls.testimonies(slow.sent)
  expect(Buffer.from(kept?.result ?? []).toString()).not.toContain('ch_late')
})

test('a call that landed after "not landed" was believed is not sent again: the next attempt is given what it gave', async () => {
  const { bench, mine, slow, slowly } = await overtaken()
  const [downstreamKey = ''] = slow.sent
  await bench.travel(20_000)
  await bench.hapax.testify({ downstreamKey, says: 'not_landed', by: 'operator:ann', why: 'asked them' })
  expect(await bench.record()).toMatchObject({ state: 'failed_retryable', recoveryPoint: 'ride_created' })
  slow.answer(charge)
  await slowly
  await until(
    () => bench.store.calls.testimonies([downstreamKey]),
    ({ length }) => length === 2,
  )
  expect(await bench.hapax.perform({ ...request, operation: mine.operation })).toMatchObject({ value: { charge } })
  expect(mine.sent).toEqual([])
})
