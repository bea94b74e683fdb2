import { readFileSync } from 'node:fs'
import { defaults } from 'hapax'
import { expect, test } from 'vitest'
import { ask } from '../sandbox/payment-client.js'
import { startSandbox } from '../sandbox/sandbox-process.js'

/** What an owner of an API, or its caller, must be able to read. */

const page = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ')

test('idempotence is about the effect, and the same answer a convenience on top: the guide says so [S2-062]', () => {
  expect(page('docs/guides/retries.md')).toMatch(
    /Idempotence is about the effect: .*takes effect once\. That every retry also gets the same answer is a convenience/,
  )
})

test('the sandbox documents every status that its key can meet, and how long an answer is kept [S3-75]', async () => {
  const documented = page('examples/sandbox/README.md')
  const { json } = await ask(await startSandbox(), '/idempotency/policy')
  type Published = {
    readonly name: string
    readonly statuses: Readonly<Record<string, number>>
    readonly retention: { readonly ms: number }
  }
  const [{ statuses }] = json.routes as [Published]
  const inForce = Object.values(statuses)
  expect(new Set(inForce).size).toBeGreaterThan(4)
  for (const status of ['201', '503', ...inForce]) expect(documented).toContain(`\`${status}\``)
  expect(documented).toContain(`Answers are kept for ${defaults.retentionMs / 3_600_000} hours`)
  const payments = (json.routes as readonly Published[]).find(({ name }) => name === 'payments.create')
  expect(payments?.retention.ms).toBe(defaults.retentionMs)
})

test('keys are per store, and what that means for two regions is said [G-24]', () => {
  expect(page('docs/guides/sqlite.md')).toMatch(
    /Keys are per store\. Two regions with a store each are two memories: a retry that reaches the other region runs again/,
  )
})
