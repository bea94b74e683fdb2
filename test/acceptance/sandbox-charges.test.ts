import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { escrowCalls, orderAfter, post } from '../sandbox/marketplace-client.js'
import { type Answer, pay, tea } from '../sandbox/payment-client.js'
import { ledger, tell } from '../sandbox/providers-process.js'
import { eventually, fault, isReplay, retriedUntil, stateOf } from '../sandbox/sandbox-client.js'
import { untilRunning } from '../sandbox/test-database.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { bytesOf } from './support/database.js'

/** What handlers did, by the books of their partners. The card processor charges whenever it is asked. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated', env: { SANDBOX_LEASE_SECONDS: '3' } })
    const settings = { provider: 'card', honoursKeys: false }
    expect((await tell(sandbox, 'PUT', '/_providers/settings', { body: settings })).status).toBe(200)
  })

  const charges = () => ledger(sandbox, '?provider=card&operation=charge')
  const codeIn = ({ status, json }: Answer) => [status, json.code]

  test('twenty identical POSTs are one payment and one call of the gateway, and all tell of it [S0-01 S1-004]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const before = (await charges()).length
    const answers = [await pay(sandbox, attempt)]
    while (answers.length < 20) answers.push(await pay(sandbox, attempt))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set([`201 ${answers[0]?.text}`]),
    )
    expect(answers.map(isReplay)).toEqual(answers.map((_, index) => index > 0))
    expect(await sandbox.paymentsOf(attempt.body)).toEqual([answers[0]?.json.id])
    expect((await charges()).slice(before)).toMatchObject([{ reference: answers[0]?.json.id, amount: 450 }])
  })

  test('whatever a key holds, a second request never enters the handler: completed, another body, running, in doubt [S1-013]', async () => {
    const body = tea()
    const done = { key: randomUUID(), body }
    const first = await pay(sandbox, done)
    const running = { key: randomUUID(), body }
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 1_500 })
    const slow = pay(sandbox, running)
    await eventually(async () => expect(await stateOf(sandbox, running.key)).toBe('in_progress'))
    expect(codeIn(await pay(sandbox, running))).toEqual([409, 'idempotency_key_in_progress'])
    expect((await slow).status).toBe(201)
    const doubted = await inDoubt(body)

    const before = [await sandbox.paymentsOf(body), await charges()]
    expect((await pay(sandbox, done)).text).toBe(first.text)
    const reused = [422, 'idempotency_key_reused_with_different_payload']
    for (const { key } of [done, running, doubted])
      expect(codeIn(await pay(sandbox, { key, body: { ...body, amountCents: 7 } }))).toEqual(reused)
    expect(codeIn(await pay(sandbox, doubted))).toEqual([409, 'outcome_unknown'])
    expect([await sandbox.paymentsOf(body), await charges()]).toEqual(before)
    expect(before.map(({ length }) => length >= 3)).toEqual([true, true])
    await tell(sandbox, 'DELETE', '/_providers/faults')
  })

  test('nobody knows whether a charge was made: no retry runs, until the processor has said that it was [S2-053]', async () => {
    const body = tea()
    const before = (await charges()).length
    const doubted = await inDoubt(body)
    for (let time = 0; time < 5; time++) {
      const refused = await pay(sandbox, doubted)
      expect([...codeIn(refused), refused.headers.has('retry-after')]).toEqual([409, 'outcome_unknown', true])
    }
    expect([await stateOf(sandbox, doubted.key), (await charges()).length - before]).toEqual(['unknown', 1])
    await tell(sandbox, 'DELETE', '/_providers/faults')
    const { json } = await retriedUntil(201, () => pay(sandbox, doubted))
    expect((await charges()).slice(before)).toMatchObject([{ reference: json.id }])
    expect(await sandbox.paymentsOf(body)).toEqual([json.id])
  })

  test('it runs under a record in progress, and its answer is stored as completed when it is done [S4-60]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 1_500 })
    const before = (await charges()).length
    const running = pay(sandbox, attempt)
    await eventually(async () => expect(await charges()).toHaveLength(before + 1))
    const during = await sandbox.recordOf(attempt.key)
    expect(during).toMatchObject({ status: 'in_progress', response_status_code: null, response_body: null })
    const { status, text } = await running
    const after = await sandbox.recordOf(attempt.key)
    expect([status, after.status, after.response_status_code]).toEqual([201, 'completed', 201])
    expect(bytesOf(after.response_body).toString()).toBe(text)
    expect((await charges()).slice(before)).toHaveLength(1)
  })

  test('an answer below 500 is kept, a refusal too: the card is not asked again [S1-042 S1-084]', async () => {
    const before = (await charges()).length
    const attempt = { key: randomUUID(), body: tea() }
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'decline' })
    const declined = await pay(sandbox, attempt)
    expect(codeIn(declined)).toEqual([402, 'card_declined'])
    // It would not be declined now.
    const again = await pay(sandbox, attempt)
    expect([again.status, again.text, isReplay(again)]).toEqual([402, declined.text, true])
    expect(await sandbox.recordsOf(attempt.key)).toMatchObject([{ status: 'completed', attempt: 1 }])
    expect(await charges()).toHaveLength(before)
  })

  test('a handler that broke is answered with 500, which is not kept: the retry goes on, and pays no second time [S1-042 S1-105]', async () => {
    const id = await orderAfter(sandbox, 'escrow')
    const key = randomUUID()
    const fund = () => post(sandbox, `/orders/${id}/escrow/fund`, { key })
    const move = (from: string, to: string) =>
      sandbox.sql(`UPDATE {sandbox}orders SET tenant = '${to}' WHERE id = '${id}' AND tenant = '${from}'`)
    await fault(sandbox, { provider: 'trustless-work', operation: 'fund', mode: 'slow', ms: 1_500 })
    const broken = fund()
    await untilRunning(sandbox, key)
    // Its row is gone while the partner is asked, which no handler expects.
    await eventually(async () => expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1 }))
    await move('acme', 'nobody')
    expect([(await broken).status, isReplay(await broken)]).toEqual([500, false])
    const { attempt: failed } = await sandbox.recordOf(key)
    await move('nobody', 'acme')
    expect((await retriedUntil(200, fund)).json.status).toBe('ESCROW_FUNDED')
    const record = await sandbox.recordOf(key)
    expect([record.status, Number(record.attempt) > Number(failed)]).toEqual(['completed', true])
    expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1 })
  })

  /** A payment that was charged, and whose answer was lost; the processor cannot be asked, until its faults are cleared. */
  async function inDoubt(body: ReturnType<typeof tea>) {
    const doubted = { key: randomUUID(), body }
    await fault(sandbox, { provider: 'card', operation: 'lookup', mode: 'reset', times: 1_000 })
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'error_500_after_effect' })
    expect(codeIn(await pay(sandbox, doubted))).toEqual([409, 'outcome_unknown'])
    return doubted
  }
})
