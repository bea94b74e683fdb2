import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Answer, acme, ask, pay } from './payment-client.js'
import { startProviders } from './providers-process.js'
import { eventually, fault, isReplay, stateOf } from './sandbox-client.js'
import { startSandbox } from './sandbox-process.js'

/**
 * What an operator does at three in the morning, without a line of SQL: a payment's answer got lost, and its provider went
 * down with it. Find it, read why, say what the provider's books show, see the customer's retry answered, and the entry.
 */

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

function hapax(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', timeout: 60_000 })
  return { code: status, stdout, stderr }
}

/** A payment that timed out after its charge was made, and a provider that nobody can ask any more. */
async function lostPayment() {
  const providers = await startProviders()
  const env = { HAPAX_PROVIDERS_URL: providers.url, SANDBOX_LEASE_SECONDS: '2' }
  const sandbox = await startSandbox({ env })
  await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'timeout_after_effect', times: 1 })
  const key = `order-${randomUUID()}`
  const paid = pay(sandbox, { key })
  const [entry] = await eventually(async () => {
    const { json } = await ask(sandbox, '/_providers/ledger')
    const entries = json.entries as { object: string; key: string }[]
    expect(entries).toHaveLength(1)
    return entries
  })
  // Its reconciler finds nobody to ask.
  await providers.stop('SIGKILL')
  expect((await paid).json.code).toBe('outcome_unknown')
  expect(await stateOf(sandbox, key)).toBe('unknown')
  return { sandbox, key, charge: entry?.object ?? '', downstreamKey: entry?.key ?? '' }
}

/** The retry gets the answer that its first request did not live to see, and what was charged is what the books show. */
async function retried(sandbox: { url: string }, key: string): Promise<Answer> {
  return eventually(async () => {
    const again = await pay(sandbox, { key })
    expect(again.status, again.text).toBe(201)
    return again
  })
}

test('by the command line: a payment that timed out is found, explained, settled by evidence, answered and written down', {
  timeout: 120_000,
}, async () => {
  const { sandbox, key, charge, downstreamKey } = await lostPayment()
  const where = `${sandbox.url}/admin`

  const listed = hapax('unknown', 'list', where)
  expect(listed).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(new RegExp(`acme +${key} +payments.create .* unknown`)),
  })

  const shown = hapax('keys', 'show', where, 'acme', key)
  expect(shown.stdout).toMatch(/These phases have committed: payment_created\./)
  expect(shown.stdout).toContain(`with the downstream key ${downstreamKey}, and how it ended is not on record.`)
  expect(shown.stdout).toMatch(/Nobody knows since .* whether it took effect/)
  expect(shown.stdout).toMatch(/settle it: landed with what the call returned/)

  const grounds = ['--evidence', `${charge} is in the books of the card processor`, '--why', 'the customer asks']
  const settle = ['unknown', 'settle', where, 'acme', key, ...grounds]
  const bare = hapax(...settle, '--landed', '--yes')
  expect(bare).toMatchObject({ code: 1, stderr: expect.stringContaining('(result_missing)') })
  const unusable = hapax(...settle, '--landed', '--result', JSON.stringify({ id: charge }), '--yes')
  expect(unusable).toMatchObject({ code: 1, stderr: expect.stringContaining('(result_unusable)') })
  // As docs/guides/admin.md shows it.
  const result = JSON.stringify({ status: 'succeeded', id: charge })
  const asked = hapax(...settle, '--landed', '--result', result)
  expect(asked).toMatchObject({ code: 4, stderr: 'hapax: nothing was changed: add --yes to do it\n' })
  expect(await stateOf(sandbox, key)).toBe('unknown')
  const settled = hapax(...settle, '--landed', '--result', result, '--yes')
  expect(settled).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Settled as landed: .* Entry 1 of the audit log\.\n$/),
  })

  const again = await retried(sandbox, key)
  expect(again.json).toMatchObject({ status: 'succeeded', amountCents: 450 })
  expect(isReplay(await pay(sandbox, { key }))).toBe(true)

  expect(hapax('audit', 'list', where).stdout).toMatch(
    /operator:sandbox +settle +acme +record:\S+\s+unknown\s+→\s+failed_retryable:\s+the\s+customer\s+asks/,
  )
  expect(hapax('audit', 'verify', where)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^The audit log is whole: 1 entry/),
  })
  expect(hapax('keys', 'show', where, 'acme', key).stdout).toMatch(
    /operator:sandbox said that it landed at .* in the books/,
  )
})

test('by the API: the same, and a write that is sent twice is done once', { timeout: 120_000 }, async () => {
  const { sandbox, key, charge } = await lostPayment()
  const get = async (path: string) => (await ask(sandbox, `/admin${path}`)).json
  const post = (path: string, body: unknown, idempotencyKey: string) =>
    ask(sandbox, `/admin${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify(body),
    })

  const found = await get('/records?state=unknown&tenant=acme')
  expect(found.items).toMatchObject([{ key, scope: 'acme', operation: 'payments.create', plain_state: 'processing' }])
  const story = await get(`/records/story?${new URLSearchParams({ scope: 'acme', key })}`)
  expect(story).toMatchObject({ phases: ['payment_created'], calls: [{ phase: 'charged', state: 'begun' }] })
  expect((story.sentences as string[]).join(' ')).toMatch(/Nobody knows since .* whether it took effect/)

  const word = {
    scope: 'acme',
    key,
    says: 'landed',
    evidence: `${charge} is in the books`,
    reason: 'the customer asks',
  }
  const write = randomUUID()
  const result = { status: 'succeeded', id: charge }
  const settled = await post('/records/settle', { ...word, result }, write)
  expect(settled).toMatchObject({
    status: 200,
    json: { record: { state: 'failed_retryable' }, audit: [{ sequence: 1 }] },
  })
  const twice = await post('/records/settle', { ...word, result }, write)
  expect(twice.text).toBe(settled.text)
  expect(isReplay(twice)).toBe(true)
  const later = await post('/records/settle', { ...word, result }, randomUUID())
  expect(later).toMatchObject({ status: 409, json: { code: 'not_in_doubt' } })

  expect((await retried(sandbox, key)).json).toMatchObject({ status: 'succeeded' })
  const audit = await get('/audit')
  expect(audit.items).toMatchObject([
    {
      who: 'operator:sandbox',
      action: 'settle',
      why: 'the customer asks',
      before: { state: 'unknown' },
      after: { state: 'failed_retryable' },
    },
  ])
  expect(await get('/audit/verify')).toMatchObject({ kind: 'whole', head: { sequence: 1 } })
  const absent = await post('/records/settle', { ...word, key: 'nobody used it', result }, randomUUID())
  expect(absent).toMatchObject({ status: 404, json: { code: 'absent' } })
})

test('only who sits at this machine is let in, under a name of its own', async () => {
  const sandbox = await startSandbox()
  const { port } = new URL(sandbox.url)
  const asked = spawnSync('curl', ['-s', '-H', 'Host: rebound.example', `http://127.0.0.1:${port}/admin/health`], {
    encoding: 'utf8',
  })
  expect(JSON.parse(asked.stdout)).toMatchObject({ status: 401, code: 'unauthorized' })
  const claimed = await ask(sandbox, '/admin/health', { headers: { ...acme, 'x-sandbox-nearby': 'no' } })
  expect(claimed.status).toBe(200)
})
