import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engine } from 'hapax'
import { adminApi, everything } from 'hapax/admin'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { ask, pay } from '../sandbox/payment-client.js'
import { eventually, isReplay } from '../sandbox/sandbox-client.js'
import { startSandbox } from '../sandbox/sandbox-process.js'

/** What operators can do, and cannot. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist/cli/main.js')

function hapax(...args: readonly string[]) {
  const { status, stdout } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', timeout: 60_000 })
  return { code: status, stdout }
}

test('the audit of routes fails where one step of a flow is not guarded, and names it [S1-071 S1-040 S1-106]', {
  timeout: 120_000,
}, async () => {
  const sandbox = await startSandbox({ env: { HAPAX_PROVIDERS_URL: 'http://127.0.0.1:9' } })
  const whole = hapax('routes', `${sandbox.url}/admin`)
  expect(whole).toMatchObject({ code: 0, stdout: expect.stringMatching(/No gap\.\n$/) })
  expect(whole.stdout).toMatch(/POST +\/orders +orders.create +guarded/)

  const folder = mkdtempSync(join(tmpdir(), 'hapax-routes-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(
    join(folder, 'app.mjs'),
    `import { fastify } from '${root}node_modules/fastify/fastify.js'
import { engine } from '${root}dist/index.js'
import { memoryStore } from '${root}dist/stores/memory.js'
import { guard } from '${root}dist/adapters/fastify.js'
const hapax = engine({ store: memoryStore() })
export const app = fastify()
app.post('/orders', guard(hapax, { name: 'orders.create', scope: () => 'acme' }, { handler: async () => ({}) }))
app.post('/orders/:id/pay', async () => ({}))
`,
  )
  const gap = hapax('routes', join(folder, 'app.mjs'))
  expect(gap).toMatchObject({ code: 1, stdout: expect.stringMatching(/POST +\/orders\/:id\/pay +gap\s+1 gap\.\n$/) })
})

test('an operator can take an answer away, with a reason, and the next retry runs [S1-085]', async () => {
  const sandbox = await startSandbox()
  const key = randomUUID()
  const first = await pay(sandbox, { key })
  expect(isReplay(await pay(sandbox, { key }))).toBe(true)
  const purged = await ask(sandbox, '/admin/records/purge', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify({ scope: 'acme', key, reason: 'a wrong answer was stored' }),
  })
  expect(purged).toMatchObject({
    status: 200,
    json: { audit: [{ action: 'purge', why: 'a wrong answer was stored' }] },
  })
  // Recent answers are given from memory for up to five seconds.
  const again = await eventually(async () => {
    const answer = await pay(sandbox, { key })
    expect(isReplay(answer)).toBe(false)
    return answer
  })
  expect(again.status).toBe(201)
  expect(again.json.id).not.toBe(first.json.id)
})

test('nobody purges without a name and a reason, all of it is written down, and what is unknown takes evidence instead [X-27]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-operators-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const made = engine({ store: sqliteStore({ path: join(folder, 'a.db') }), log: () => {} })
  const api = adminApi({
    hapax: made,
    authorize: (request) =>
      request.headers.get('authorization') === 'Bearer ann' ? { who: 'ann', may: everything } : undefined,
  })
  onTestFinished(async () => {
    api.close()
    await made.close()
  })
  const policy = made.policy({ name: 'payments.create' })
  await made.run({ scope: 'acme', key: 'answered', policy }, async () => 'paid')
  await made.run({ scope: 'acme', key: 'doubtful', policy }, async (work) => work.doubt('silent')).catch(() => {})
  const purge = async (key: string, token: string, reason: string) => {
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
      authorization: `Bearer ${token}`,
    }
    const body = JSON.stringify({ scope: 'acme', key, reason })
    const response = await api(new Request('http://admin/records/purge', { method: 'POST', headers, body }))
    return ((await response.json()) as { code?: string }).code ?? response.status
  }
  expect(await purge('answered', 'stranger', 'a test')).toBe('unauthorized')
  expect(await purge('answered', 'ann', ' ')).toBe('invalid')
  expect(await purge('doubtful', 'ann', 'a test')).toBe('not_completed')
  expect(await purge('answered', 'ann', 'a test')).toBe(200)
  const { entries } = (await made.operating.audit?.list({ limit: 9 })) ?? { entries: [] }
  expect(entries).toMatchObject([{ who: 'ann', action: 'purge', why: 'a test' }])
})
