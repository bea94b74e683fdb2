import assert from 'node:assert/strict'
import { engine } from '../../engine/engine.js'
import { keyOf } from '../../engine/key.js'
import { scopeOf } from '../../engine/scope.js'
import { type Clock, systemClock } from '../../kernel/clock.js'
import { isHapaxError } from '../../kernel/errors.js'
import { present } from '../expect.js'
import { retentionMs } from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** Callers whose clocks are wrong: only the store's clock counts. */
export const clocks: Readonly<Record<string, Show>> = {
  'a caller whose clock is an hour wrong writes the time of the store': async ({ store, open, startedAt }) => {
    const [ahead, behind] = [caller(store, hourMs), caller(await open(), -hourMs)]
    assert.equal((await ahead('first', async () => 'ran')).value, 'ran')
    assert.equal((await behind('second', async () => 'ran')).value, 'ran')
    for (const key of ['first', 'second']) {
      const { createdAt, completedAt, expiresAt } = present(
        await store.find({ scope: scopeOf('acme'), key: keyOf(key) }),
      )
      assert.deepEqual([createdAt, completedAt, expiresAt], [startedAt, startedAt, startedAt + retentionMs])
    }
  },

  'a caller whose clock is an hour ahead does not take over a lease that lives': async ({ store, open }) => {
    const [right, ahead] = [caller(store, 0), caller(await open(), hourMs)]
    const { value } = await right('key', async () => {
      await assert.rejects(
        ahead('key', async () => 'ran twice'),
        (error) => isHapaxError(error, 'idempotency_key_in_progress'),
      )
      return 'ran once'
    })
    assert.equal(value, 'ran once')
  },

  'a caller whose clock is an hour wrong replays to the last millisecond, and no longer': async ({
    store,
    open,
    at,
  }) => {
    const [ahead, behind] = [caller(store, hourMs), caller(await open(), -hourMs)]
    await ahead('key', async () => 'first')
    await at(retentionMs - 1)
    assert.deepEqual(await outcomes([ahead, behind]), ['first 1', 'first 1'])
    await at(retentionMs)
    assert.deepEqual(await outcomes([behind, ahead]), ['anew 2', 'anew 2'])
  },
}

const hourMs = 3_600_000

type Caller = (
  key: string,
  work: () => Promise<string>,
) => Promise<{ readonly value: string; readonly generation: number }>

function caller(store: AnyStore, wrongByMs: number): Caller {
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + wrongByMs,
    elapsed: () => systemClock.elapsed() + wrongByMs,
  }
  // The clock of the store is moved by a day in no time: whoever remembers an answer would not notice.
  const hapax = engine({ store, clock, replayCache: 'off' })
  const policy = hapax.policy({ name: 'clocks', retention: '24h' })
  return (key, work) => hapax.run({ scope: 'acme', key, policy }, work)
}

/** What each caller in turn gets for the same key, with its generation. */
async function outcomes(callers: readonly Caller[]): Promise<readonly string[]> {
  const seen = []
  for (const call of callers) {
    const { value, generation } = await call('key', async () => 'anew')
    seen.push(`${value} ${generation}`)
  }
  return seen
}
