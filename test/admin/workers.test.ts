import { engine, workOnce } from 'hapax'
import { adminApi, everything } from 'hapax/admin'
import { memoryStore } from 'hapax/memory'
import { expect, onTestFinished, test } from 'vitest'
import { faultyStore } from '../support/faulty-store.js'
import { manualClock } from '../support/manual-clock.js'

/** What an operator sees of the workers. */

function site() {
  const clock = manualClock()
  const { store, breakAt, mend } = faultyStore(memoryStore({ clock }))
  const hapax = engine({ store, log: () => {}, clock })
  const api = adminApi({ hapax, authorize: () => ({ who: 'ann', may: everything }) })
  onTestFinished(async () => {
    api.close()
    await hapax.close()
  })
  const ask = async (path: string) =>
    (await (await api(new Request(`http://admin${path}`))).json()) as Record<string, unknown>
  const worker = async (name: string) =>
    ((await ask('/workers')).items as Record<string, unknown>[]).find((one) => one.name === name)
  return { hapax, clock, ask, worker, breakAt, mend }
}

test('an error is shown while it lasts, and when it was afterwards; whose workers these are is said', async () => {
  const { hapax, clock, ask, worker, breakAt, mend } = site()
  breakAt('sweep', 'before')
  await workOnce({ hapax })
  const failed_at = new Date(clock.now()).toISOString()
  expect(await worker('sweeper')).toEqual({ name: 'sweeper', last_failed_at: failed_at, error_code: 'store_failed' })
  mend()
  await clock.advance(60_000)
  await workOnce({ hapax })
  expect(await worker('sweeper')).toEqual({
    name: 'sweeper',
    last_pass_at: new Date(clock.now()).toISOString(),
    last_did: {},
    took_ms: 0,
    last_failed_at: failed_at,
  })
  expect((await ask('/workers')).says).toContain('of the process that was asked')
})

test('a provider that does not answer is named, with until when it is left alone, also in the story of its doubt', async () => {
  const { hapax, clock, ask, worker } = site()
  let isOut = true
  const operation = hapax.operation('payments.create', { version: 1 }, async (work) => {
    const charge = await work.call('charged', {
      run: () => Promise.reject(new Error('socket hang up')),
      lookup() {
        if (isOut) throw new Error('502')
        return { landed: true, result: { id: 'ch_1' } }
      },
    })
    return { status: 201, body: charge }
  })
  await hapax.perform({ scope: 'acme', key: 'k', operation, input: {} }).catch(() => {})
  await workOnce({ hapax })
  const [pause] = ((await worker('reconciler')) as { paused: { of: string; until: string }[] }).paused
  expect(pause?.of).toBe('payments.create')
  expect(Date.parse(`${pause?.until}`)).toBeGreaterThan(clock.now())
  const sentence = `The provider of payments.create did not answer this node when it was asked, and is left alone until ${pause?.until}.`
  const story = () => ask('/records/story?scope=acme&key=k')
  expect(await story()).toMatchObject({ reconciler_paused_until: pause?.until })
  expect((await story()).sentences).toContain(sentence)

  isOut = false
  await clock.advance(60_000)
  await workOnce({ hapax })
  expect(await worker('reconciler')).not.toHaveProperty('paused')
  expect((await story()).sentences).not.toContain(sentence)
})
