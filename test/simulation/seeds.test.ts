import { expect, test } from 'vitest'
import { scheduleOf } from './random.js'
import { type Ended, run, runAll } from './running.js'

/** All that a schedule was: what was chosen, what happened, and what came of it. */
function wholeOf({ simulation, choices, error }: Ended) {
  const { world, provider, heard, database } = simulation
  const words = world.trace.map((said) => said())
  return JSON.stringify([
    choices,
    words,
    world.steps,
    world.time,
    provider.ledger,
    heard,
    database.digest(),
    `${error}`,
  ])
}

test('a seed is the same schedule alone as behind others, whatever ran before it', async () => {
  const seeds = Array.from({ length: 60 }, (_, index) => 60 - index)
  const inARow: string[] = []
  const left = seeds.map((seed) => scheduleOf(seed))
  await runAll(
    () => left.shift(),
    (ended) => inARow.push(wholeOf(ended)),
  )
  expect(inARow).toHaveLength(seeds.length)
  for (const seed of [...seeds].reverse())
    expect(wholeOf(await run(scheduleOf(seed)))).toBe(inARow[seeds.indexOf(seed)])
})
