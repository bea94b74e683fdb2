import { describe, expect, test } from 'vitest'
import { order } from './cases/case.js'
import { exhaust } from './exhaustive.js'
import { mostGoneWrong } from './most-gone-wrong.js'
import type { Budget } from './world/faults.js'

/** A request whose client asks once: who has crashed with it is started by nobody. */
const once = (faults: Budget) => ({ requests: [{ program: 'plain' as const, order, nodes: [0] }], faults })

describe('a scenario of which every schedule is run', () => {
  test('lacks nothing when each kind of fault that it allows was taken, and all of them in one schedule', async () => {
    const { isExhausted, missing } = await exhaust(once({ crashes: 1, breaks: 1 }), 10_000)
    expect(isExhausted).toBe(true)
    expect(missing).toEqual([])
  })

  test('says so where nothing goes wrong as often as it may', async () => {
    expect((await exhaust(once({ crashes: 2 }), 10_000)).missing).toEqual(['two crashes'])
    expect((await exhaust(once({ breaks: 1, crashes: 5 }), 10_000)).missing).toEqual(['5 crashes'])
  })

  test('says so where nothing of one kind ever goes wrong', async () => {
    const alone = { requests: [], faults: { drifts: 1, cancels: 2 } }
    const { missing } = await exhaust(alone, 10)
    expect(missing).toEqual(['a request that arrives after its line broke', 'two cancelled statements'])
  })

  test('says so where each kind goes wrong, and never all of them at once', () => {
    const none = { breaks: 0, drifts: 0, cancels: 0, crashes: 0, lateness: 0, freezes: 0, jumps: 0, haste: 0 }
    const wrong = mostGoneWrong({ crashes: 1, breaks: 1 })
    wrong.note({ ...none, crashes: 1 })
    wrong.note({ ...none, breaks: 1 })
    expect(wrong.missing()).toEqual(['all of that at once'])
    wrong.note({ ...none, breaks: 1, crashes: 1 })
    expect(wrong.missing()).toEqual([])
  })
})
