import assert from 'node:assert/strict'
import type { Clock } from '../../kernel/clock.js'
import { systemClock } from '../../kernel/clock.js'
import { limits } from '../../kernel/limits.js'
import { isProblem, isReplayOf, saysWhen } from './expect.js'
import { gate } from './gate.js'
import { type HttpShow, paid } from './stage.js'

/** Who asks too much, too late or without the right to it is turned away, and a retry of a known key never is. */
export const protection: Readonly<Record<string, HttpShow>> = {
  'a tenant with too many new keys is told to come back, and his retries and other tenants are served': async (
    stage,
  ) => {
    stage.guardedBy({ quotas: { newKeys: { most: 2, per: '1h' } } })
    const { ask, runs } = await stage.serve({})
    const first = await ask({ key: 'one' })
    await ask({ key: 'two' })
    const turnedAway = await ask({ key: 'three' })
    isProblem(turnedAway, 429, 'quota_exceeded')
    assert.match(turnedAway.headers.get('retry-after') ?? '', /^[1-9][0-9]*$/)
    isReplayOf(await ask({ key: 'one' }), first)
    assert.equal((await ask({ key: 'three', tenant: 'other' })).status, 201)
    assert.equal(runs(), 3)
  },

  'an answer that is asked for too often is not given, and what is stored stays': async (stage) => {
    stage.guardedBy({ replays: { most: 2, per: '1m' } })
    const { ask, runs } = await stage.serve({})
    const first = await ask()
    isReplayOf(await ask(), first)
    isReplayOf(await ask(), first)
    const tooOften = await ask()
    isProblem(tooOften, 429, 'rate_exceeded')
    saysWhen(tooOften)
    assert.equal((await ask({ key: 'another' })).status, 201)
    assert.equal(runs(), 2)
  },

  'a new key that was made longer ago than answers are kept is refused, and a known one replays': async (stage) => {
    const { now, clock } = movedClock()
    stage.guardedBy({ clock })
    const { ask, runs } = await stage.serve({ options: { freshness: { by: 'key' } } })
    const key = '018f0000-0000-7000-8000-000000000000'
    const madeAt = 0x018f0000_0000
    now.ms = madeAt + 1_000
    const first = await ask({ key })
    assert.equal(first.status, 201)
    now.ms = madeAt + 25 * hour
    isReplayOf(await ask({ key }), first)
    isProblem(await ask({ key: '018f0000-0000-7000-8000-000000000001' }), 412, 'request_not_fresh')
    assert.equal((await ask({ key: 'no-time-in-it' })).status, 201)
    assert.equal(runs(), 2)
  },

  'a request says by a header when it was first sent, and one that does not is refused': async (stage) => {
    const { now, clock } = movedClock()
    stage.guardedBy({ clock })
    const { ask, runs } = await stage.serve({
      options: { freshness: { by: 'header', name: 'Repeatability-First-Sent' } },
    })
    now.ms = Date.UTC(2030, 0, 2)
    const sent = (value: string) => ({ headers: { 'repeatability-first-sent': value } })
    isProblem(await ask({ key: 'silent' }), 400, 'first_sent_invalid')
    isProblem(await ask({ key: 'vague', ...sent('yesterday') }), 400, 'first_sent_invalid')
    isProblem(await ask({ key: 'old', ...sent('Mon, 31 Dec 2029 23:59:59 GMT') }), 412, 'request_not_fresh')
    isProblem(await ask({ key: 'ahead', ...sent('2030-01-02T01:00:00Z') }), 412, 'request_not_fresh')
    assert.equal((await ask({ key: 'fresh', ...sent('Tue, 01 Jan 2030 00:06:00 GMT') })).status, 201)
    assert.equal(runs(), 1)
  },

  'a caller who lost the right to an answer is refused, and does not get it again': async ({ serve }) => {
    let mayPass = true
    const { ask, runs } = await serve({ options: { authorizeReplay: async () => mayPass } })
    const first = await ask()
    isReplayOf(await ask(), first)
    mayPass = false
    const refused = await ask()
    isProblem(refused, 403, 'replay_forbidden')
    assert.doesNotMatch(refused.text, /pay_1/)
    mayPass = true
    isReplayOf(await ask(), first)
    assert.equal(runs(), 1)
  },

  'a route bounds how often the answer to one of its keys is given again, and to no other': async ({ serve }) => {
    const { ask, runs } = await serve({ options: { replays: { most: 2, per: '1m' } } })
    const first = await ask()
    for (let time = 0; time < 2; time++) isReplayOf(await ask(), first)
    isProblem(await ask(), 429, 'rate_exceeded')
    assert.equal((await ask({ key: 'another' })).status, 201)
    assert.equal(runs(), 2)
  },

  'a caller who waits for the answer of another is asked for his right to it too': async ({ serve }) => {
    const started = gate()
    const ended = gate()
    const { ask, settled } = await serve({
      options: { concurrency: 'wait', authorizeReplay: () => false },
      async handler() {
        started.open()
        await ended.opened
        return paid()
      },
    })
    const first = ask()
    await started.opened
    const second = ask()
    await settled()
    ended.open()
    assert.equal((await first).status, 201)
    isProblem(await second, 403, 'replay_forbidden')
  },

  'a store that fails again and again is left alone, and asked again after a while': async (stage) => {
    const { skipped, clock } = skippingClock()
    stage.guardedBy({ clock })
    const { ask, runs } = await stage.serve({})
    const opened = stage.told('circuit_opened')
    stage.store.fail('reserve')
    for (let failure = 0; failure < limits.failuresInARow; failure++)
      isProblem(await ask(), 503, 'idempotency_store_unavailable')
    await opened
    stage.store.mend()
    const spared = await ask()
    isProblem(spared, 503, 'idempotency_store_unavailable')
    saysWhen(spared)
    assert.equal((await ask({ method: 'GET' })).status, 201, 'what is not guarded does not care')
    const closed = stage.told('circuit_closed')
    skipped.ms = hour
    assert.equal((await ask()).status, 201)
    await closed
    assert.equal((await ask()).replayed, true)
    assert.equal(runs(), 2)
  },
}

const hour = 3_600_000

/** A clock whose date is set by the case, while its timers go on as they do. */
function movedClock(): { readonly now: { ms: number }; readonly clock: Clock } {
  const now = { ms: 0 }
  return { now, clock: { ...systemClock, now: () => now.ms } }
}

/** A clock on which a case can let time pass. */
function skippingClock(): { readonly skipped: { ms: number }; readonly clock: Clock } {
  const skipped = { ms: 0 }
  return { skipped, clock: { ...systemClock, elapsed: () => systemClock.elapsed() + skipped.ms } }
}
