import { describe, expect, test } from 'vitest'
import { api, busyApi, hour, key, type Name, names } from './api.js'

describe('how long', () => {
  const windows: Record<Name, number> = {
    ietf: 24 * hour,
    stripe: 24 * hour,
    finastra: 24 * hour,
    marketplace: 24 * hour,
    brandur: 24 * hour,
    boundary: 48 * hour,
  }
  test.each(names)('%s replays within its window, and runs as new right after it', async (name) => {
    const { post, runs, clock } = await api(name)
    await post()
    await clock.advance(windows[name] - 1)
    await post()
    expect(runs()).toBe(1)
    await clock.advance(1)
    await post()
    expect(runs()).toBe(2)
  })

  const leases: Record<Name, number> = {
    ietf: 30_000,
    stripe: 30_000,
    finastra: 30_000,
    marketplace: 30_000,
    brandur: 90_000,
    boundary: 300_000,
  }
  test.each(names)('%s holds a key that is being worked on for its lease, in the row', async (name) => {
    const { clock, record, letGo } = await busyApi(name)
    expect(await record(key)).toMatchObject({
      leaseUntil: clock.now() + leases[name],
      expiresAt: clock.now() + windows[name],
    })
    await letGo()
  })
})
