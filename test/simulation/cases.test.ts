import { describe, expect, test } from 'vitest'
import { cases } from './cases.js'
import { exhaust } from './exhaustive.js'

/** All schedules of all cases take minutes, and are run by `npm run simulate -- --cases`. Many cases have no more than these. */
const first = 300

describe('the first schedules keep every promise', () => {
  for (const { name, scenario, reaches } of cases)
    test(name, async () => {
      const { failure, isExhausted, reached, missing } = await exhaust(scenario, first)
      expect(failure?.error).toBeUndefined()
      if (!isExhausted) return
      expect(reached).toEqual(expect.arrayContaining([...reaches]))
      expect(missing).toEqual([])
    })
})
