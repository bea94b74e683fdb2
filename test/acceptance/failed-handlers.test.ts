import type { Events, Policy } from 'hapax'
import { beforeEach, describe, expect, test } from 'vitest'
import { answer, ask } from './support/ask.js'
import { withoutRecords } from './support/database.js'
import { deadAddress, startGateway } from './support/gateway.js'
import { startNode } from './support/node-process.js'
import { type FileNode, type TestFile, testFile } from './support/test-file.js'

/** What becomes of a key when its handler, its provider or its store fails. */

let file: TestFile
let node: FileNode
beforeEach(async () => {
  file = await testFile()
  node = file.node()
})

const run = (policy: Policy, handler: Parameters<FileNode['hapax']['run']>[1], input?: unknown) =>
  node.hapax.run({ scope: 'acme', key: 'k', input, policy }, handler)

/** Only a refused connection proves that nothing was sent. */
const onError = (meaning: 'retry' | 'release') => (error: unknown) =>
  error instanceof Error && String((error.cause as { code?: string })?.code) === 'ECONNREFUSED' ? meaning : 'unknown'

async function charge(url: string, signal?: AbortSignal): Promise<string> {
  return (await fetch(url, { method: 'POST', ...(signal && { signal }) })).text()
}

describe('a handler that failed', () => {
  test('before anything could reach the provider lets the retry run, which succeeds [S2-006]', async () => {
    const policy = node.hapax.policy({ name: 'payments.create', onError: onError('retry') })
    const dead = await deadAddress()
    await expect(run(policy, () => charge(dead))).rejects.toThrow('fetch failed')
    expect(file.row('k').status).toBe('failed_retryable')
    const gateway = await startGateway()
    gateway.answer()
    expect(await run(policy, () => charge(gateway.url))).toMatchObject({ value: 'charged', replayed: false })
    expect(gateway.charges()).toBe(1)
  })

  test('and may be forgotten leaves no reservation behind: the key is as good as new [S2-055]', async () => {
    const policy = node.hapax.policy({ name: 'payments.create', onError: onError('release') })
    const dead = await deadAddress()
    await expect(run(policy, () => charge(dead))).rejects.toThrow('fetch failed')
    expect(file.sql('SELECT * FROM hapax_records')).toEqual([])
    expect(node.heard.map(({ name }) => name)).toContain('released')
    expect(await run(policy, async (work) => [work.generation, work.attempt])).toMatchObject({ value: [1, 1] })
  })

  test('is marked, not evicted: the row counts its attempts and says why the last one failed [S2-144]', async () => {
    const policy = node.hapax.policy({ name: 'payments.create' })
    for (const attempt of [1, 2, 3]) {
      const failing = run(policy, () => Promise.reject(Object.assign(new Error('no'), { code: `E_TRY_${attempt}` })))
      await expect(failing).rejects.toThrow('no')
      expect(file.row('k')).toMatchObject({
        status: 'failed_retryable',
        attempt,
        fence: attempt,
        last_error_code: `E_TRY_${attempt}`,
      })
    }
    expect(await run(policy, async ({ attempt }) => attempt)).toMatchObject({ value: 4 })
  })

  test('with a policy that stores failures gives its 500 for ever, and never runs again [S2-046]', async () => {
    const policy = node.hapax.policy({ name: 'payments.create', onError: 'store' })
    let runs = 0
    const failing = () => ask(node.hapax, { key: 'k', policy }, async () => answer(500, `broken ${++runs}`))
    const first = await failing()
    const again = await failing()
    expect(first).toMatchObject({ kind: 'answered', replayed: false, stored: true, answer: { status: 500 } })
    expect(again).toMatchObject({ kind: 'answered', replayed: true, answer: { status: 500 } })
    expect(bodyOf(again)).toBe('broken 1')
    expect(runs).toBe(1)
  })
})

describe('a provider that has the request and does not answer', () => {
  test('leaves the outcome unknown, and a retry charges nothing [S2-007 S2-069]', async () => {
    const policies = {
      'says so': node.hapax.policy({ name: 'payments.create' }),
      'only throws': node.hapax.policy({ name: 'payments.create', onError: onError('release') }),
    }
    for (const [handler, policy] of Object.entries(policies)) {
      const gateway = await startGateway()
      const patience = new AbortController()
      void gateway.charged().then(() => patience.abort(new Error('gateway timeout')))
      const request = { scope: 'acme', key: handler, policy }
      const timedOut = node.hapax.run(request, (work) =>
        charge(gateway.url, patience.signal).catch((error: Error) => {
          if (handler === 'only throws') throw error
          work.doubt(error.message)
        }),
      )
      await expect(timedOut, handler).rejects.toMatchObject({ code: 'outcome_unknown' })
      expect(file.row(handler)).toMatchObject({ status: 'unknown', reconcile_after: expect.any(Number) })
      const again = node.hapax.run(request, () => charge(gateway.url))
      await expect(again).rejects.toMatchObject({ code: 'outcome_unknown' })
      expect(gateway.charges(), handler).toBe(1)
    }
  })
})

describe('a store that fails', () => {
  test('after the charge: 5xx for the caller, doubt for the key, and it is never free again [G-08]', async () => {
    const gateway = await startGateway()
    const process = await startNode(file.path)
    process.run({ key: 'k', handler: 'charges', gateway: gateway.url })
    await gateway.charged()
    const bringBack = withoutRecords(file.path)
    gateway.answer()
    expect(await process.heard('ended', 'k')).toMatchObject({ code: 'answer_not_stored' })
    await process.kill()
    bringBack()
    const policy = node.hapax.policy({ name: 'payments.create' })
    await expect(run(policy, () => charge(gateway.url))).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
    await file.setTime(Number(file.row('k').locked_until))
    await expect(run(policy, () => charge(gateway.url))).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(file.row('k').status).toBe('unknown')
    expect(gateway.charges()).toBe(1)
  })

  test('before the handler: nothing runs, unless the policy was told, aloud, to run without protection [S2-143]', async () => {
    const closed = node.hapax.policy({ name: 'payments.create' })
    const open = node.hapax.policy({ name: 'pings.create', dangerouslyFailOpen: true })
    expect(node.logged.map(({ code }) => code)).toEqual(['fails_open'])
    await node.hapax.open()
    const bringBack = withoutRecords(file.path)
    let runs = 0
    const count = async () => ++runs
    await expect(run(closed, count)).rejects.toMatchObject({ code: 'idempotency_store_unavailable' })
    expect(runs).toBe(0)
    expect(node.heard.map(({ name }) => name)).not.toContain('ran_unprotected')
    expect(await run(open, count)).toMatchObject({ value: 1, generation: 0 })
    expect(node.heard.filter(({ name }) => name === 'ran_unprotected')).toHaveLength(1)
    expect(node.logged.at(-1)).toMatchObject({ level: 'error', code: 'ran_unprotected' })
    bringBack()
  })
})

test('another payload under a key is told apart for whoever watches: who, which record, which operation, no key [S2-135]', async () => {
  const heard: Events['mismatched'][] = []
  node.hapax.on('mismatched', (event) => heard.push(event))
  const policy = node.hapax.policy({ name: 'payments.create' })
  await run(policy, async () => 'paid', { cents: 1 })
  await run(policy, async () => 'paid', { cents: 1 })
  expect(heard).toEqual([])
  await expect(run(policy, async () => 'paid', { cents: 9 })).rejects.toMatchObject({ fault: 'caller' })
  const digest = file.sql('SELECT lower(hex(digest)) AS digest FROM hapax_records')[0]?.digest
  expect(heard).toEqual([{ scope: 'acme', record: digest, operation: 'payments.create' }])
})

test('an answer that is too large to keep goes to its caller whole; a retry is told so, and nothing runs again [G-04]', async () => {
  const policy = node.hapax.policy({ name: 'reports.create', maxAnswerBytes: 100 })
  let runs = 0
  const large = async () => `${++runs} ${'x'.repeat(100)}`
  expect(await run(policy, large)).toMatchObject({ value: expect.stringMatching(/^1 x{100}$/) })
  for (let time = 0; time < 2; time++)
    await expect(run(policy, large)).rejects.toMatchObject({ code: 'answer_withheld', retryable: false })
  expect(runs).toBe(1)
  expect(file.row('k')).toMatchObject({ status: 'completed', response_body: null, response_withheld_bytes: 104 })
})

function bodyOf(outcome: Awaited<ReturnType<FileNode['hapax']['execute']>>): string {
  if (outcome.kind !== 'answered' || outcome.answer.kind !== 'kept') throw new Error(`no answer: ${outcome.kind}`)
  return Buffer.from(outcome.answer.body).toString()
}
