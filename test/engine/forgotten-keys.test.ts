import { effects as definitions, type Work, workOnce } from 'hapax'
import type { SqliteTransaction } from 'hapax/sqlite'
import { expect, test } from 'vitest'
import { rejection } from '../support/waiting.js'
import { request, type WorkBench, workBench } from '../support/work-bench.js'

/** A key that is used anew when nothing is left of its first time, though it derives the same downstream keys. */

const day = 86_400_000

const effects = definitions({ 'receipt.send': { call: () => ({ sent: true }) } })
const settled = { retention: '24h', tombstone: '24h' } as const

const run = (bench: WorkBench, handler: (work: Work<SqliteTransaction>) => Promise<unknown>) =>
  bench.hapax.run({ ...request, policy: bench.policy }, handler)

/** Everything that workers do, and the reaper twice: it buries, and deletes at its next pass. */
async function worked({ hapax }: WorkBench): Promise<void> {
  for (const worker of [...(await workOnce({ hapax })), ...(await workOnce({ hapax }))])
    expect(worker).not.toHaveProperty('error')
}

test('writes the effects of its first time once more, and they are carried out', async () => {
  const bench = await workBench({ effects }, settled)
  const send = () => run(bench, (work) => work.commit(async ({ effect }) => effect('receipt.send', { to: 'ann' })))
  await send()
  await worked(bench)
  const first = await bench.store.effects.done({ since: 0, limit: 10 })
  await bench.travel(day)
  await worked(bench)
  await bench.travel(day)
  await worked(bench)
  expect(await bench.record()).toBeUndefined()
  await send()
  await worked(bench)
  const second = await bench.store.effects.done({ since: 0, limit: 10 })
  expect(second.effects.map(({ downstreamKey }) => downstreamKey)).toEqual(
    first.effects.map(({ downstreamKey }) => downstreamKey),
  )
  expect(second.effects[0]?.id).not.toBe(first.effects[0]?.id)
})

/** Charges once, and gives the downstream key that the charge carried. */
async function charged(bench: WorkBench, reply: 'comes' | 'is lost'): Promise<string> {
  let downstreamKey = ''
  const charging = run(bench, (work) =>
    work.call('charged', {
      async run({ key }) {
        downstreamKey = key
        if (reply === 'is lost') throw new Error('the connection was reset')
        return { id: 'ch_1' }
      },
    }),
  )
  await (reply === 'is lost' ? rejection(charging) : charging)
  return downstreamKey
}

const landed = { says: 'landed', result: { id: 'ch_1' }, by: 'webhook:pay', why: 'evt_1' } as const

test('is in doubt on its own: what was once said about its call settles nothing', async () => {
  const bench = await workBench({}, settled)
  const { store, hapax } = bench
  const first = await charged(bench, 'comes')
  await hapax.testify({ downstreamKey: first, ...landed })
  await bench.travel(day)
  await worked(bench)
  await bench.travel(day)
  await worked(bench)
  expect(await charged(bench, 'is lost')).toBe(first)
  expect(await store.calls.testimonies([first])).toEqual([])
  await worked(bench)
  expect(await bench.record()).toMatchObject({ state: 'unknown', isBegun: true })
})

test('is in doubt on its own: what is said about its first time when nothing is left of that settles nothing', async () => {
  const bench = await workBench({}, settled)
  const { store, hapax } = bench
  const first = await charged(bench, 'comes')
  await bench.travel(day)
  await worked(bench)
  await bench.travel(day)
  await worked(bench)
  expect(await bench.record()).toBeUndefined()
  await hapax.testify({ downstreamKey: first, ...landed })
  await bench.travel(1)
  expect(await charged(bench, 'is lost')).toBe(first)
  expect(await store.calls.testimonies([first])).toHaveLength(1)
  await worked(bench)
  expect(await bench.record()).toMatchObject({ state: 'unknown', isBegun: true, evidence: [] })
})

test('testimonies about what nobody knows go after their time, by the reaper', async () => {
  const bench = await workBench()
  const { store, hapax } = bench
  await hapax.testify({ downstreamKey: 'whose', says: 'landed', by: 'webhook:pay', why: 'evt_1' })
  await bench.travel(45 * day - 1)
  await worked(bench)
  expect(await store.calls.testimonies(['whose'])).toHaveLength(1)
  await bench.travel(1)
  const [, , , reaper] = await workOnce({ hapax })
  expect(reaper).toEqual({ name: 'reaper', did: { testimonies: 1 } })
  expect(await store.calls.testimonies(['whose'])).toEqual([])
})
