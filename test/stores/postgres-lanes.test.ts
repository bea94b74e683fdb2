import { expect, test } from 'vitest'
import { type LaneOptions, type LaneWork, lanes, type Outcome } from '../../src/stores/postgres/lanes.js'
import { manualClock } from '../support/manual-clock.js'

/** Lanes whose statements end when the test says so. Nothing is gathered but where a test is about it. */
function stage(
  judge: (operations: readonly number[]) => readonly Outcome<string>[] = done,
  how: Pick<LaneOptions, 'gather'> = { gather: (send) => send() },
) {
  const clock = manualClock()
  const sent: (number | readonly number[])[] = []
  const endings: { end: () => void; fail: (error: unknown) => void }[] = []
  const ending = <T>(result: () => T) =>
    new Promise<T>((resolve, reject) => endings.push({ end: () => resolve(result()), fail: reject }))
  const work: LaneWork<number, string> = {
    alone(operation) {
      sent.push(operation)
      return ending(() => `${operation} alone`)
    },
    together(operations) {
      sent.push(operations)
      return ending(() => judge(operations))
    },
    isUndone: (error) => error === 'undone',
  }
  const run = lanes(work, { clock, patienceMs: 1_000, ...how })
  return { clock, sent, endings, run }
}

function done(operations: readonly number[]): readonly Outcome<string>[] {
  return operations.map((operation) => ({ kind: 'done', result: `${operation} together` }))
}

test('whoever comes alone is sent at once, and what comes meanwhile goes together', async () => {
  const { clock, sent, endings, run } = stage()
  const results = Promise.all([1, 2, 3, 4, 5].map(run))
  expect(sent).toEqual([1, 2])
  endings[0]?.end()
  await clock.settle()
  expect(sent).toEqual([1, 2, [3, 4, 5]])
  for (const { end } of endings) end()
  expect(await results).toEqual(['1 alone', '2 alone', '3 together', '4 together', '5 together'])
})

test('what comes in one turn of the event loop goes together, shared among the lanes', async () => {
  const { clock, sent, endings, run } = stage(done, {})
  const results = Promise.all([1, 2, 3, 4, 5].map(run))
  expect(sent).toEqual([])
  await clock.settle()
  expect(sent).toEqual([
    [1, 2, 3],
    [4, 5],
  ])
  for (const { end } of endings) end()
  await results
  const alone = run(6)
  await clock.settle()
  expect(sent.at(-1)).toBe(6)
  for (const { end } of endings) end()
  expect(await alone).toBe('6 alone')
})

test('a batch has a bound', async () => {
  const { clock, sent, endings, run } = stage()
  const results = Array.from({ length: 300 }, (_, index) => run(index))
  endings[0]?.end()
  await clock.settle()
  expect(sent[2]).toHaveLength(128)
  for (let index = 0; index < endings.length; index++) {
    endings[index]?.end()
    await clock.settle()
  }
  await Promise.all(results)
})

test('a lane that waits for long gives way, so that nobody waits with it', async () => {
  const { clock, sent, run } = stage()
  for (const operation of [1, 2, 3, 4]) void run(operation)
  expect(sent).toEqual([1, 2])
  await clock.advance(99)
  expect(sent).toEqual([1, 2])
  await clock.advance(1)
  expect(sent).toEqual([1, 2, [3, 4]])
})

test('a batch that was undone is tried one by one; one that may have happened is not', async () => {
  const { clock, sent, endings, run } = stage()
  const results = [1, 2, 3, 4].map(run)
  endings[0]?.end()
  await clock.settle()
  endings[2]?.fail('undone')
  await clock.settle()
  expect(sent).toEqual([1, 2, [3, 4], 3, 4])
  for (const { end } of endings) end()
  expect(await Promise.all(results)).toEqual(['1 alone', '2 alone', '3 alone', '4 alone'])

  const lost = stage()
  const losing = [1, 2, 3, 4].map(lost.run)
  lost.endings[0]?.end()
  await lost.clock.settle()
  lost.endings[2]?.fail('cut')
  await expect(losing[2]).rejects.toBe('cut')
  await expect(losing[3]).rejects.toBe('cut')
  expect(lost.sent).toEqual([1, 2, [3, 4]])
})

test('what a batch could not do is done alone, or goes with the next one', async () => {
  const { clock, sent, endings, run } = stage((operations) =>
    operations.map((operation) =>
      operation === 3 ? { kind: 'alone' } : operation === 4 ? { kind: 'again' } : { kind: 'done', result: 'together' },
    ),
  )
  const results = [1, 2, 3, 4, 5].map(run)
  endings[0]?.end()
  await clock.settle()
  endings[2]?.end()
  await clock.settle()
  expect(sent).toEqual([1, 2, [3, 4, 5], 3, 4])
  for (const { end } of endings) end()
  expect(await Promise.all(results)).toEqual(['1 alone', '2 alone', '3 alone', '4 alone', 'together'])
})

test('what a slow batch leaves for the next one is not forgotten when its lane has given way', async () => {
  const { clock, sent, endings, run } = stage((operations) =>
    operations.map((operation) => (operation === 4 ? { kind: 'again' } : { kind: 'done', result: 'together' })),
  )
  const results = [1, 2, 3, 4].map(run)
  for (const { end } of [...endings]) end()
  await clock.settle()
  expect(sent).toEqual([1, 2, [3, 4]])
  await clock.advance(1_000)
  endings[2]?.end()
  await clock.settle()
  expect(sent).toEqual([1, 2, [3, 4], 4])
  endings[3]?.end()
  expect(await Promise.all(results)).toEqual(['1 alone', '2 alone', 'together', '4 alone'])
})

test('who has waited too long for a lane is sent away, and his operation does not happen', async () => {
  const { clock, sent, endings, run } = stage()
  // Nothing is answered, and a lane gives way every 100 ms: of a flood only a part gets its turn in time.
  const flood = Promise.allSettled(Array.from({ length: 10_000 }, (_, index) => run(index)))
  await clock.advance(10_000)
  for (let turn = 0; turn < endings.length; turn++) endings[turn]?.end()
  const rejected = (await flood).filter((outcome) => outcome.status === 'rejected')
  expect(rejected.length).toBeGreaterThan(1_000)
  expect(new Set(rejected.map(({ reason }) => reason.code))).toEqual(new Set(['store_busy']))
  expect(sent.flat()).toHaveLength(10_000 - rejected.length)
})

test('more than can wait are sent away at once', async () => {
  const { run } = stage()
  for (let operation = 0; operation < 10_002; operation++) void run(operation)
  await expect(run(-1)).rejects.toMatchObject({ code: 'store_busy' })
})
