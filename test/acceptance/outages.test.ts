import { randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import type { HapaxError } from 'hapax'
import { beforeAll, describe, expect, test } from 'vitest'
import { paymentsOf, recordsOf, untilRunning } from '../sandbox/database.js'
import { acme, pay, tea } from '../sandbox/payment-client.js'
import { type SandboxProcess, startSandbox } from '../sandbox/sandbox-process.js'
import { gate } from '../support/waiting.js'
import { databaseOf, recordOf, scriptOn, sqlOn, withoutRecords } from './support/database.js'
import { openShop } from './support/shop.js'

/** What a client gets while the database, the process or the client itself fails. */

let sandbox: SandboxProcess
let path: string
beforeAll(async () => {
  sandbox = await startSandbox()
  path = databaseOf(sandbox)
})

describe('the database', () => {
  test('without its records: 503 idempotency_store_unavailable, and no payment is made [S2-041 S2-072]', async () => {
    // Its handler takes a minute: an answer that comes at once is one for which it did not run.
    const slow = await startSandbox({ dataDir: sandbox.dataDir, env: { SANDBOX_DELAY_MS: '60000' } })
    const [key, body] = [randomUUID(), tea()]
    const bringBack = withoutRecords(path)
    const refused = await pay(slow, { key, body })
    bringBack()
    expect(refused).toMatchObject({ status: 503, json: { status: 503, code: 'idempotency_store_unavailable' } })
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(paymentsOf(sandbox.dataDir, body)).toEqual([])
    expect(recordsOf(sandbox.dataDir, key)).toEqual([])
    const accepted = await pay(sandbox, { key, body })
    expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([201, null])
  })

  test('is no conflict and no misuse: 409, 422 and 503 each have a code of their own [S2-015 S2-061]', async () => {
    const [key, body] = [randomUUID(), tea()]
    await pay(sandbox, { key, body })
    const misused = await pay(sandbox, { key, body: tea() })
    scriptOn(
      path,
      `UPDATE hapax_records SET status = 'in_progress', response_status_code = NULL, locked_until = ${Date.now() + 60_000}
        WHERE idempotency_key = '${key}'`,
    )
    const collided = await pay(sandbox, { key, body })
    const bringBack = withoutRecords(path)
    const failed = await pay(sandbox, { key, body })
    bringBack()
    expect([collided, misused, failed].map(({ status, json }) => `${status} ${json.code}`)).toEqual([
      '409 idempotency_key_in_progress',
      '422 idempotency_key_reused_with_different_payload',
      '503 idempotency_store_unavailable',
    ])
  })

  test('cannot take the answer: then the client does not get it either, however the handler ended [S2-044 G-07]', async () => {
    const slow = await startSandbox({ env: { SANDBOX_DELAY_MS: '1000' } })
    const [key, body] = [randomUUID(), tea()]
    const running = pay(slow, { key, body })
    await untilRunning(slow, key)
    const bringBack = withoutRecords(databaseOf(slow))
    const refused = await running
    bringBack()
    expect(refused.status).toBe(503)
    expect(paymentsOf(slow.dataDir, body)).toEqual([])
    await expect.poll(async () => (await pay(slow, { key, body })).status, { timeout: 10_000 }).toBe(201)
    expect(recordsOf(slow.dataDir, key)).toMatchObject([{ status: 'completed' }])
    expect(paymentsOf(slow.dataDir, body)).toHaveLength(1)
  })

  test('holds a damaged record: a 5xx with a code for whoever asks for it, and everybody else is served [S2-030]', async () => {
    const damages = {
      'no answer': 'response_status_code = NULL, response_body = NULL',
      'headers that are no JSON': "response_headers = '['",
      'evidence that is no JSON': "evidence = ''",
    }
    for (const [damage, change] of Object.entries(damages)) {
      const [key, body] = [randomUUID(), tea()]
      await pay(sandbox, { key, body })
      scriptOn(
        path,
        `PRAGMA ignore_check_constraints = ON; UPDATE hapax_records SET ${change} WHERE idempotency_key = '${key}'`,
      )
      const answer = await pay(sandbox, { key, body })
      expect(answer, damage).toMatchObject({ status: 503, json: { code: 'idempotency_store_unavailable' } })
      expect((await pay(sandbox, { body: tea() })).status).toBe(201)
      expect(paymentsOf(sandbox.dataDir, body), damage).toHaveLength(1)
    }
    expect(sandbox.child.exitCode).toBeNull()
  })
})

describe('a key store that is down', () => {
  test('closes the API: 503 before any mutation, and afterwards everything goes on [S1-072 S1-104]', async () => {
    const own = await startSandbox()
    const path = databaseOf(own)
    const [before, during] = [
      { key: randomUUID(), body: tea() },
      { key: randomUUID(), body: tea() },
    ]
    const first = await pay(own, before)
    await rename(path, `${path}.away`)
    for (const attempt of [before, during]) expect((await pay(own, attempt)).status).toBe(503)
    await rename(`${path}.away`, path)
    expect([paymentsOf(own.dataDir, during.body), recordsOf(own.dataDir, during.key)]).toEqual([[], []])
    expect((await pay(own, before)).text).toBe(first.text)
    expect((await pay(own, during)).status).toBe(201)
  })

  test('lets no handler start, so that nothing is charged and nothing written [S1-072 S1-104]', async () => {
    const { hapax, policy, path, withoutDatabase, charge, charges } = await openShop()
    const attempt = { scope: 'acme', key: 'k', policy: policy() }
    await withoutDatabase(async () => {
      await expect(hapax.run(attempt, () => charge('ch_1'))).rejects.toMatchObject({
        fault: expect.stringMatching(/store|operator/),
        retryable: true,
      })
    })
    expect([charges, sqlOn(path, 'SELECT * FROM payments')]).toEqual([[], []])
    expect((await hapax.run(attempt, () => charge('ch_2'))).value).toEqual({ charge: 'ch_2' })
  })

  test('after the charge does not lose it: the answer becomes durable later, and nothing is charged twice [S1-036]', async () => {
    const { hapax, policy, path, withoutDatabase, charge, charges } = await openShop()
    const attempt = { scope: 'acme', key: 'k', policy: policy() }
    const gone = gate()
    const back = gate()
    const charging = hapax.run(attempt, async () => {
      expect(recordOf(path, 'k').status).toBe('in_progress')
      const charged = await charge('ch_1')
      gone.open()
      await back.opened
      return charged
    })
    await gone.opened
    await withoutDatabase(async () => {
      back.open()
      await expect(charging).rejects.toMatchObject({ code: 'answer_not_stored', retryable: true })
    })
    const retry = () => hapax.run(attempt, () => charge('ch_2')).catch((error: HapaxError) => error.code)
    await expect.poll(retry, { timeout: 10_000 }).toMatchObject({ value: { charge: 'ch_1' }, replayed: true })
    expect(charges).toEqual(['ch_1'])
  })
})

describe('a handler that failed without a trace', () => {
  test('lets the next request run, which finds nothing of the first [S2-022 S2-100]', async () => {
    const [key, body] = [randomUUID(), tea()]
    await failedPayment({ key, body })
    expect(recordsOf(sandbox.dataDir, key)).toMatchObject([{ status: 'failed_retryable', attempt: 1 }])
    expect(paymentsOf(sandbox.dataDir, body)).toEqual([])
    const accepted = await pay(sandbox, { key, body })
    expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect(recordsOf(sandbox.dataDir, key)).toMatchObject([{ status: 'completed', attempt: 2 }])
    expect(paymentsOf(sandbox.dataDir, body)).toHaveLength(1)
  })

  test('is one of four branches: go on, replay three times in a row, refuse another body, refuse while locked [S3-39]', async () => {
    const [key, body] = [randomUUID(), tea()]
    await failedPayment({ key, body })
    const created = await pay(sandbox, { key, body })
    expect(created.status).toBe(201)
    for (let time = 0; time < 3; time++) expect((await pay(sandbox, { key, body })).text).toBe(created.text)
    expect((await pay(sandbox, { key, body: tea() })).status).toBe(422)
    const locked = `UPDATE hapax_records SET status = 'in_progress', response_status_code = NULL, locked_until = ?`
    sqlOn(path, `${locked} WHERE idempotency_key = ?`, Date.now() + 60_000, key)
    expect((await pay(sandbox, { key, body })).status).toBe(409)
    expect(paymentsOf(sandbox.dataDir, body)).toHaveLength(1)
  })
})

describe('the process', () => {
  test('killed the moment its answer arrived, and started again, gives the same bytes [S2-004]', async () => {
    const killed = await startSandbox()
    const [key, body] = [randomUUID(), tea()]
    const created = await pay(killed, { key, body })
    await killed.stop('SIGKILL')
    const next = await startSandbox({ dataDir: killed.dataDir })
    const again = await pay(next, { key, body })
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, created.text, 'true'])
    expect(paymentsOf(killed.dataDir, body)).toHaveLength(1)
  })

  test('told to stop takes nothing new, lets the payment that runs finish, and leaves no lock behind [G-23]', async () => {
    const stopped = await startSandbox({ env: { SANDBOX_DELAY_MS: '1000' } })
    const [key, body] = [randomUUID(), tea()]
    const running = pay(stopped, { key, body })
    await untilRunning(stopped, key)
    const exited = stopped.stop('SIGTERM')
    expect((await running).status).toBe(201)
    expect(await exited).toBe(0)
    expect(recordsOf(stopped.dataDir, key)).toMatchObject([{ status: 'completed' }])
    await expect(pay(stopped)).rejects.toThrow()
  })
})

test('a client that hangs up loses nothing: the payment is made once, and its retry gets it [G-06]', async () => {
  const slow = await startSandbox({ env: { SANDBOX_DELAY_MS: '1000' } })
  const [key, body] = [randomUUID(), tea()]
  const leave = new AbortController()
  const headers = { ...acme, 'content-type': 'application/json', 'idempotency-key': key }
  const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leave.signal }
  const left = expect(fetch(`${slow.url}/payments`, init)).rejects.toThrow()
  await untilRunning(slow, key)
  leave.abort()
  await left
  expect(recordsOf(slow.dataDir, key)).toMatchObject([{ status: 'in_progress' }])
  await expect.poll(() => recordsOf(slow.dataDir, key), { timeout: 10_000 }).toMatchObject([{ status: 'completed' }])
  const retry = await pay(slow, { key, body })
  expect([retry.status, retry.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
  expect(paymentsOf(slow.dataDir, body)).toEqual([retry.json.id])
})

/** A payment whose row the database refuses, so that its transaction rolls back. */
async function failedPayment(attempt: { readonly key: string; readonly body: unknown }): Promise<void> {
  scriptOn(path, "CREATE TRIGGER refused BEFORE INSERT ON payments BEGIN SELECT RAISE(ABORT, 'refused'); END")
  const failed = await pay(sandbox, attempt)
  scriptOn(path, 'DROP TRIGGER refused')
  expect(failed.status).toBeGreaterThanOrEqual(500)
}
