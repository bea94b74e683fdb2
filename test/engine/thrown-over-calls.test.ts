import { isHapaxError, type PolicyOptions, type Work } from 'hapax'
import type { SqliteTransaction } from 'hapax/sqlite'
import { describe, expect, test } from 'vitest'
import { bounded, gate, rejection, until } from '../support/waiting.js'
import { insertRide, request, type WorkBench, workBench } from '../support/work-bench.js'

/** An error of the handler ends no call that is open, whatever the policy makes of errors. */

type Handler = (work: Work<SqliteTransaction>) => Promise<unknown>
type Checkpoint = WorkBench['store']['checkpoint']

const hour = 3_600_000
const honours = { honoursKeyFor: '24h' } as const
const run = ({ hapax, policy }: WorkBench, handler: Handler) => hapax.run({ ...request, policy }, handler)
const failing = () => Promise.reject(new Error('the config service is down'))

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await rejection(promise)
  return isHapaxError(error) ? error.code : (error as Error).message
}

const meanings: readonly [string, NonNullable<PolicyOptions['onError']>][] = [
  ['stored', 'store'],
  ['retried', 'retry'],
  ['released', () => 'release'],
]

describe.each(meanings)('where errors are %s, one that comes', (_name, onError) => {
  test('before the open call of an earlier attempt leaves it to be made again, with its key', async () => {
    const bench = await workBench({}, { onError })
    const sent: string[] = []
    const charging =
      (reply: () => unknown): Handler =>
      (work) =>
        work.call('charge', {
          ...honours,
          run({ key }) {
            sent.push(key)
            return reply()
          },
        })
    await rejection(
      run(
        bench,
        charging(() => Promise.reject(new Error('reset'))),
      ),
    )
    expect(await codeOf(run(bench, failing))).toBe('the config service is down')
    expect(await bench.record()).toMatchObject({ state: 'failed_retryable', errorCode: 'Error', isBegun: true })
    expect(
      await run(
        bench,
        charging(() => 'ch_1'),
      ),
    ).toMatchObject({ value: 'ch_1' })
    expect(sent).toHaveLength(2)
    expect(new Set(sent).size).toBe(1)
  })

  test('before an open call whose provider may have forgotten the key is doubt', async () => {
    const bench = await workBench({}, { onError, retention: '30d' })
    const reset = () => Promise.reject(new Error('reset'))
    await rejection(run(bench, (work) => work.call('charge', { ...honours, run: reset })))
    await bench.travel(24 * hour)
    expect(await codeOf(run(bench, failing))).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', isBegun: true })
  })

  test('while a call runs is doubt, and what the call gives ends it', async () => {
    const bench = await workBench({}, { onError })
    const [sent, answered] = [gate(), gate()]
    const code = codeOf(
      run(bench, async (work) => {
        void work
          .call('charge', {
            async run() {
              sent.open()
              await answered.opened
              return 'ch_1'
            },
          })
          .catch(() => {})
        await bounded(sent.opened, 'the call')
        throw new Error('boom')
      }),
    )
    expect(await code).toBe('outcome_unknown')
    expect(await bench.record()).toMatchObject({ state: 'unknown', isBegun: true })
    answered.open()
    await until(bench.record, (record) => record?.state === 'failed_retryable', 'the evidence')
    const again = run(bench, (work) => work.call('charge', { run: () => 'twice' }))
    expect(await again).toMatchObject({ value: 'ch_1' })
  })

  test('while it is not durable yet that a call begins leaves that to the record: nothing is sent', async () => {
    const { bench, hapax, policy, held } = await holding('begun', onError)
    let sent = 0
    const code = codeOf(
      hapax.run({ ...request, policy }, async (work) => {
        void work.call('charge', { run: () => ++sent }).catch(() => {})
        throw new Error('boom')
      }),
    )
    expect(await code).toBe('outcome_unknown')
    expect((await bench.record())?.state).toBe('in_progress')
    held.open()
    await until(bench.record, (record) => record?.onLeaseOver === 'resume', 'the call to be taken back')
    expect(sent).toBe(0)
    await bench.travel(31_000)
    expect(await run(bench, (work) => work.call('charge', { run: () => ++sent }))).toMatchObject({ value: 1 })
  })

  test('while it is not durable yet that a call has landed leaves that to the record: it is not made again', async () => {
    const { bench, hapax, policy, reached, held } = await holding('landed', onError)
    let sent = 0
    const code = codeOf(
      hapax.run({ ...request, policy }, async (work) => {
        void work.call('charge', { run: () => ++sent }).catch(() => {})
        await bounded(reached.opened, 'the call to land')
        throw new Error('boom')
      }),
    )
    expect(await code).toBe('outcome_unknown')
    held.open()
    await until(bench.record, (record) => record?.recoveryPoint === 'charge', 'the result')
    expect(await bench.record()).toMatchObject({ state: 'in_progress', isBegun: false })
    await bench.travel(31_000)
    expect(await run(bench, (work) => work.call('charge', { run: () => ++sent }))).toMatchObject({ value: 1 })
  })
})

test('where no call is open an error means what the policy says: after rows, and after a call that is over', async () => {
  const bench = await workBench({}, { onError: 'store' })
  const steps: readonly Handler[] = [
    (work) => work.transaction('ride_created', ({ tx }) => insertRide(tx, 'ann')),
    (work) => work.call('charge', { run: () => 'ch_1' }),
    (work) => work.call('charge', { run: failing, classify: () => 'answered' }).catch(() => {}),
  ]
  for (const [index, step] of steps.entries()) {
    const key = `k-${index}`
    const failed = bench.hapax.run({ ...request, key, policy: bench.policy }, async (work) => {
      await step(work)
      throw new Error('boom')
    })
    await rejection(failed)
    expect(await bench.record(key)).toMatchObject({ state: 'completed', answer: { status: 500 } })
  }
})

/** A node whose store takes its time to write down that a call begins, or has landed. */
async function holding(kind: 'begun' | 'landed', onError: NonNullable<PolicyOptions['onError']>) {
  const bench = await workBench({}, { onError })
  const [reached, held] = [gate(), gate()]
  const checkpoint = async (...args: Parameters<Checkpoint>): Promise<Awaited<ReturnType<Checkpoint>>> => {
    if (args[1].call?.kind === kind) {
      reached.open()
      await held.opened
    }
    return bench.store.checkpoint(...args)
  }
  const hapax = bench.node({ store: { ...bench.store, checkpoint } })
  return { bench, hapax, policy: hapax.policy({ name: 'rides.create', onError }), reached, held }
}
