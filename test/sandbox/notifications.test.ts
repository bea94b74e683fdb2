import { beforeAll, describe, expect, test } from 'vitest'
import { globex } from './payment-client.js'
import { ledger } from './providers-process.js'
import { eventually, fault, get, isReplay, postJson, stateOf, type Try } from './sandbox-client.js'
import type { SandboxProcess } from './sandbox-process.js'
import { apiOf, startSupervised, untilRestarted } from './supervised-sandbox.js'

const hello = { to: 'ada@example.com', text: 'Your order is on its way.' }
const notify = (sandbox: SandboxProcess, attempt: Try = {}, body: unknown = hello) =>
  postJson(sandbox, '/notifications', body, attempt)
const sentFor = async (sandbox: SandboxProcess, id: unknown) =>
  (await ledger(sandbox, '?provider=notifier')).filter(({ reference }) => reference === id)
const untilStatus = (sandbox: SandboxProcess, id: unknown, status: string) =>
  eventually(async () => expect((await get(sandbox, `/notifications/${id}`)).json.status).toBe(status))

describe('a notification', () => {
  let sandbox: SandboxProcess
  beforeAll(async () => {
    sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '2' } })
  })

  test('is queued with its row, sent by a worker, and its retry gets the first answer', async () => {
    const first = await notify(sandbox, { key: 'k' })
    const { id } = first.json
    expect(first).toMatchObject({ status: 202, json: { ...hello, status: 'queued' } })
    expect(first.headers.get('location')).toBe(`/notifications/${id}`)
    await untilStatus(sandbox, id, 'sent')
    const again = await notify(sandbox, { key: 'k' })
    expect([again.status, again.text, isReplay(again)]).toEqual([202, first.text, true])
    expect(await sentFor(sandbox, id)).toHaveLength(1)
    expect((await get(sandbox, '/notifications')).json.notifications).toMatchObject([{ id, status: 'sent' }])
    expect((await get(sandbox, `/notifications/${id}`, globex)).status).toBe(404)
  })

  test('may name a user, and call its text a message', async () => {
    const { json } = await notify(sandbox, {}, { userId: 'usr_acme_ada', message: 'hi' })
    expect(json).toMatchObject({ to: 'user:usr_acme_ada', text: 'hi' })
    await untilStatus(sandbox, json.id, 'sent')
  })

  test('whose time has passed is sent at once: it may be a retry of one for which it had not', async () => {
    const { status, json } = await notify(sandbox, {}, { ...hello, sendAt: '2020-01-31T13:00:00.5+01:00' })
    expect([status, json.sendAt]).toEqual([202, '2020-01-31T12:00:00.500Z'])
    await untilStatus(sandbox, json.id, 'sent')
    expect((await get(sandbox, `/notifications/${json.id}`)).json.sendAt).toBe(json.sendAt)
  })

  for (const mode of ['timeout_before', 'timeout_after_effect', 'error_500_after_effect', 'reset', 'slow'])
    test(`whose provider meets ${mode} is sent once, though that honours no keys`, async () => {
      await fault(sandbox, { provider: 'notifier', operation: 'send', mode, ...(mode === 'slow' && { ms: 300 }) })
      const { status, json } = await notify(sandbox)
      expect(status).toBe(202)
      await untilStatus(sandbox, json.id, 'sent')
      expect(await sentFor(sandbox, json.id)).toHaveLength(1)
    })

  test('that the provider refuses is refused, and not tried again', async () => {
    await fault(sandbox, { provider: 'notifier', operation: 'send', mode: 'decline' })
    const { json } = await notify(sandbox)
    await untilStatus(sandbox, json.id, 'refused')
    expect(await sentFor(sandbox, json.id)).toEqual([])
  })

  test('to a user whom nobody knows, or of another tenant, is refused, and its key is free afterwards', async () => {
    const key = crypto.randomUUID()
    for (const userId of ['usr_nobody', 'usr_globex_cleo'])
      expect(await notify(sandbox, { key }, { userId, text: 'x' })).toMatchObject({
        status: 404,
        json: { code: 'user_not_found' },
      })
    expect((await notify(sandbox, { key })).status).toBe(202)
  })

  test.each([
    ['nobody to tell', { text: 'x' }],
    ['two to tell', { to: 'a', userId: 'b', text: 'x' }],
    ['no text', { to: 'a' }],
    ['two texts', { to: 'a', text: 'x', message: 'y' }],
    ['a blank text', { to: 'a', text: ' ' }],
    ['an overlong text', { to: 'a', text: 'x'.repeat(1_001) }],
    ['a recipient that is a number', { to: 1, text: 'x' }],
    ['a user that is no id', { userId: '../x', text: 'x' }],
    ['a control character', { to: 'a\u0000', text: 'x' }],
    ['no object', 'hello'],
    ['a time that is none', { to: 'a', text: 'x', sendAt: 'tomorrow' }],
    ['a time without a zone', { to: 'a', text: 'x', sendAt: '2026-01-31T12:00:00' }],
    ['a day that no calendar has', { to: 'a', text: 'x', sendAt: '2026-02-31T12:00:00Z' }],
    ['a time that is a number', { to: 'a', text: 'x', sendAt: 1_800_000_000 }],
    ['a time too far off', { to: 'a', text: 'x', sendAt: new Date(Date.now() + 31 * 86_400_000).toISOString() }],
  ])('with %s is refused, and its key is free afterwards', async (_what, body) => {
    const key = crypto.randomUUID()
    expect(await notify(sandbox, { key }, body)).toMatchObject({ status: 400, json: { code: 'request_invalid' } })
    expect(await stateOf(sandbox, key)).toBe('free')
    expect((await notify(sandbox, { key })).status).toBe(202)
  })
})

test('killed when it had been sent and nobody had written that down, a worker asks, and sends nothing again', async () => {
  const sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '2' } })
  await fault(sandbox, { provider: 'notifier', operation: 'send', mode: 'slow', ms: 60_000 })
  const { json } = await notify(sandbox, { key: 'k' })
  await eventually(async () => expect(await sentFor(sandbox, json.id)).toHaveLength(1))
  const { pid } = await apiOf(sandbox)
  process.kill(pid, 'SIGKILL')
  await untilRestarted(sandbox, pid)
  await untilStatus(sandbox, json.id, 'sent')
  expect(await sentFor(sandbox, json.id)).toHaveLength(1)
})
