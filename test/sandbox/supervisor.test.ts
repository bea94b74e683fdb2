import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusal } from './expectations.js'
import { pay } from './payment-client.js'
import { ledger, startProviders, tell, until } from './providers-process.js'
import { refusedStart, type SandboxProcess, startSandbox } from './sandbox-process.js'
import { apiOf, isAlive, startSupervised, untilRestarted } from './supervised-sandbox.js'

const ride = { amountCents: 2000, currency: 'usd' }

test.concurrent('an API that is killed serves again, on the same port, and knows what it answered', async () => {
  const sandbox = await startSupervised()
  const first = await pay(sandbox, { key: 'k' })
  const { pid } = await apiOf(sandbox)
  expect(pid).not.toBe(sandbox.child.pid)
  process.kill(pid, 'SIGKILL')
  const next = await untilRestarted(sandbox, pid)
  process.kill(next, 'SIGKILL')
  await untilRestarted(sandbox, next)
  const again = await pay(sandbox, { key: 'k' })
  expect([again.status, again.headers.get('idempotent-replayed'), again.text]).toEqual([201, 'true', first.text])
  expect(sandbox.printed.stdout).toBe(`ready ${sandbox.url}\n`.repeat(3))
  expect(sandbox.printed.stderr).toContain(`the API (pid ${pid}) ended by SIGKILL: starting it again\n`)
})

test.concurrent('ledger and faults of the providers are served through the port of the API', async () => {
  const sandbox = await startSupervised()
  const { url } = await providersOf(sandbox)
  const fault = { provider: 'card', operation: 'charge', mode: 'decline', times: 1 }
  expect(await tell(sandbox, 'POST', '/_providers/faults', { body: fault })).toMatchObject({ status: 201, json: fault })
  expect((await tell(sandbox, 'GET', '/_providers/faults')).json).toEqual({ faults: [fault] })
  expect((await tell({ url }, 'POST', '/card/charges', { key: 'k', body: ride })).status).toBe(402)
  await tell({ url }, 'POST', '/card/charges', { key: 'l', body: ride })
  expect(await ledger(sandbox, '?provider=card')).toMatchObject([{ operation: 'charge', key: 'l', amount: 2000 }])
  expect(await ledger(sandbox, '?provider=airtm')).toEqual([])
  const bad = await tell(sandbox, 'POST', '/_providers/faults', { body: { ...fault, times: 0 } })
  expect([bad.status, bad.json.error.code]).toEqual([400, 'fault_invalid'])
  expect((await tell(sandbox, 'GET', '/_providers/ledger?provider=paypal')).status).toBe(404)
  expect((await tell(sandbox, 'DELETE', '/_providers/faults')).json).toEqual({ cleared: 0 })
  // Where events go is set on this machine only.
  expect((await tell(sandbox, 'PUT', '/_providers/webhooks', { body: {} })).status).toBe(404)
})

test.concurrent('providers that are killed serve again where they were, with their ledger', async () => {
  const sandbox = await startSupervised()
  const { url, pid } = await providersOf(sandbox)
  const { json } = await tell({ url }, 'POST', '/card/charges', { key: 'k', body: ride })
  process.kill(pid, 'SIGKILL')
  await until(async () => expect(await ledger(sandbox, '?provider=card')).toMatchObject([{ object: json.id }]))
  expect((await providersOf(sandbox)).url).toBe(url)
  const again = await tell({ url }, 'POST', '/card/charges', { key: 'k', body: ride })
  expect([again.isReplay, again.json]).toEqual([true, json])
})

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test.concurrent(`${signal} lets a running payment finish, ends with 0, and leaves no process`, async () => {
    const sandbox = await startSupervised({ env: { SANDBOX_DELAY_MS: '600' } })
    const [api, providers] = [await apiOf(sandbox), await providersOf(sandbox)]
    const running = pay(sandbox)
    // It has begun by the time that a later one has been answered.
    await apiOf(sandbox)
    expect(await sandbox.stop(signal)).toBe(0)
    expect((await running).status).toBe(201)
    expect([isAlive(api.pid), isAlive(providers.pid)]).toEqual([false, false])
  })

test.concurrent('a supervisor that is killed takes both processes with it', async () => {
  const sandbox = await startSupervised()
  const [api, providers] = [await apiOf(sandbox), await providersOf(sandbox)]
  // Its output stays open as long as one of them lives.
  await sandbox.stop('SIGKILL')
  await until(async () => expect([isAlive(api.pid), isAlive(providers.pid)]).toEqual([false, false]))
  const next = await startSupervised({ dataDir: sandbox.dataDir, env: { PORT: new URL(sandbox.url).port } })
  expect((await pay(next)).status).toBe(201)
})

test.concurrent('two on one directory share its providers, and the second takes them over when the first is gone', async () => {
  const first = await startSupervised()
  const second = await startSupervised({ dataDir: first.dataDir })
  const { url } = await providersOf(first)
  await tell({ url }, 'POST', '/card/charges', { key: 'k', body: ride })
  expect(await ledger(second)).toEqual(await ledger(first))
  expect(second.printed.stderr).toContain(`providers: ${url},`)
  expect(await first.stop('SIGTERM')).toBe(0)
  await until(async () => expect(await ledger(second)).toMatchObject([{ key: 'k' }]))
  expect((await providersOf(second)).url).toBe(url)
})

test.concurrent('providers of somebody else are used where they are named, and left alone', async () => {
  const providers = await startProviders()
  const sandbox = await startSupervised({ env: { HAPAX_PROVIDERS_URL: providers.url } })
  await tell(providers, 'POST', '/card/charges', { key: 'k', body: ride })
  expect(await ledger(sandbox)).toMatchObject([{ key: 'k' }])
  const targets = async () => JSON.parse(await readFile(join(providers.dataDir, 'webhooks.json'), 'utf8'))
  await until(async () =>
    expect(await targets()).toEqual({
      airtm: [`${sandbox.url}/webhooks/airtm`],
      'trustless-work': [`${sandbox.url}/webhooks/trustless-work`],
    }),
  )
  expect(await sandbox.stop('SIGTERM')).toBe(0)
  expect(await ledger(providers)).toHaveLength(1)
})

test.concurrent('what keeps it from starting is said once, and nothing is tried again', async () => {
  const supervised = 'supervisor/main.js'
  expect(await refusedStart({ PORT: 'abc' }, supervised)).toEqual(refusal('PORT is "abc"'))
  expect(await refusedStart({ HAPAX_PROVIDERS_URL: 'ftp://x' }, supervised)).toEqual(refusal('HAPAX_PROVIDERS_URL'))
  const { url } = await startSandbox()
  const taken = await refusedStart({ PORT: new URL(url).port }, supervised)
  expect([taken.code, taken.stdout, taken.stderr.match(/cannot start: .*EADDRINUSE/g)?.length]).toEqual([1, '', 1])
})

test.concurrent('without providers the API serves, and says what is missing', async () => {
  const sandbox = await startSandbox()
  const { status, json } = await tell(sandbox, 'GET', '/_providers/ledger')
  expect([status, json.code]).toEqual([503, 'providers_unavailable'])
})

async function providersOf({ dataDir }: SandboxProcess): Promise<{ url: string; pid: number }> {
  return JSON.parse(await readFile(join(dataDir, 'providers', 'serving.json'), 'utf8'))
}
