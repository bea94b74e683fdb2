import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nowhere, Roster } from '../../src/kernel/roster.js'

test('those stand in it that came and have not gone, whatever the order', () => {
  const steps = fc.array(fc.record({ who: fc.nat(7), comes: fc.boolean() }))
  fc.assert(
    fc.property(steps, (steps) => {
      const people = Array.from({ length: 8 }, (_, name) => ({ name, place: nowhere }))
      const roster = new Roster<(typeof people)[number]>()
      const here = new Set<object>()
      for (const { who, comes } of steps) {
        const one = people[who]
        if (one === undefined) continue
        if (!comes) expect(roster.remove(one)).toBe(here.delete(one))
        else if (!here.has(one)) {
          roster.add(one)
          here.add(one)
        }
        expect(roster.size).toBe(here.size)
        expect(new Set(roster.all())).toEqual(here)
      }
    }),
  )
})

test('whoever was there when it was cleared stands nowhere, and may come again', () => {
  const roster = new Roster<{ place: number }>()
  const one = { place: nowhere }
  roster.add(one)
  roster.clear()
  expect(roster.remove(one)).toBe(false)
  roster.add(one)
  expect(roster.all()).toEqual([one])
})
