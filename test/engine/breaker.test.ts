import { limits } from 'hapax'
import { expect, test } from 'vitest'
import { bench } from '../support/bench.js'

const down = { code: 'idempotency_store_unavailable' }

/** An outage that the engine has noticed. */
async function outage() {
  const stage = bench()
  const { hapax, policy, faults } = stage
  const run = (key: string) =>
    hapax.run({ scope: 'acme', key, policy: policy({ name: 'payments.create' }) }, async () => key)
  faults.breakAt('reserve', 'before')
  for (let failure = 0; failure < limits.failuresInARow; failure++) await expect(run('k')).rejects.toMatchObject(down)
  return { ...stage, run }
}

test('after failures in a row the store is not asked, and the refusal says when to come back', async () => {
  const { run, faults, events } = await outage()
  expect(events).toContain('circuit_opened')
  const asked = faults.asked.get('reserve')
  await expect(run('k')).rejects.toMatchObject({ ...down, retryAfterMs: expect.any(Number) })
  expect(faults.asked.get('reserve')).toBe(asked)
})

test('a success between failures starts the count anew', async () => {
  const { hapax, policy, faults, events } = bench()
  const run = (key: string) => hapax.run({ scope: 'acme', key, policy: policy() }, async () => key)
  for (let round = 0; round < 3; round++) {
    faults.breakAt('reserve', 'before')
    for (let failure = 1; failure < limits.failuresInARow; failure++) await run('k').catch(() => undefined)
    faults.mend()
    await run(`well-${round}`)
  }
  expect(events).not.toContain('circuit_opened')
})

test('after a while one request tries while the others are still refused, and an answer closes the circuit', async () => {
  const { run, faults, clock, events } = await outage()
  faults.mend()
  faults.breakAt('reserve', 'late', 1)
  await clock.advance(60_000)
  const trying = run('trying')
  await clock.settle()
  await expect(run('other')).rejects.toMatchObject(down)
  faults.mend()
  expect(await trying).toMatchObject({ value: 'trying' })
  expect(events).toContain('circuit_closed')
  expect(await run('other')).toMatchObject({ value: 'other' })
})

test('a try that fails opens it again, for longer in the end', async () => {
  const { run, faults, clock, hapax } = await outage()
  const openings: number[] = []
  hapax.on('circuit_opened', ({ openMs }) => openings.push(openMs))
  for (let round = 0; round < 12; round++) {
    await clock.advance(60_000)
    await expect(run('k')).rejects.toMatchObject(down)
  }
  expect(openings).toHaveLength(12)
  expect(Math.max(...openings)).toBeGreaterThan(1_000)
  faults.mend()
  await clock.advance(60_000)
  expect(await run('k')).toMatchObject({ value: 'k' })
})

test('a store that is busy answers, so it does not open the circuit', async () => {
  const { hapax, policy, faults, events } = bench()
  faults.breakAt('reserve', 'busy')
  for (let failure = 0; failure < 3 * limits.failuresInARow; failure++) {
    const refused = hapax.run({ scope: 'acme', key: 'k', policy: policy() }, async () => 1)
    await expect(refused).rejects.toMatchObject({ code: 'store_busy' })
  }
  expect(events).not.toContain('circuit_opened')
})

test('a policy that fails open runs at once while the circuit is open', async () => {
  const { hapax, policy, faults } = await outage()
  const asked = faults.asked.get('reserve')
  const request = { scope: 'acme', key: 'open', policy: policy({ dangerouslyFailOpen: true }) }
  expect(await hapax.run(request, async () => 'ran')).toMatchObject({ value: 'ran' })
  expect(faults.asked.get('reserve')).toBe(asked)
})
