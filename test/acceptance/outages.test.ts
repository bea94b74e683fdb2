import { randomUUID } from 'node:crypto'
import type { HapaxError } from 'hapax'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Customer, paymentsOf } from '../sandbox/database.js'
import { acme, pay, tea } from '../sandbox/payment-client.js'
import { startSandbox } from '../sandbox/sandbox-process.js'
import { untilRunning } from '../sandbox/test-database.js'
import { gate } from '../support/waiting.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { databaseOf, recordOf, scriptOn, sqlOn } from './support/database.js'
import { openShop } from './support/shop.js'
import { usual } from './support/usual-settings.js'

/** What a client gets while the database, the process or the client itself fails. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  describe('the database', () => {
    test('that is away: 503 idempotency_store_unavailable, and no payment is made [S2-041 S2-072]', async () => {
      // Its handler takes a minute: an answer that comes at once is one for which it did not run.
      const slow = await sandbox.another({ env: { SANDBOX_DELAY_MS: '60000' } })
      const [key, body] = [randomUUID(), tea()]
      const refused = await sandbox.withoutDatabase(() => pay(slow, { key, body }))
      expect(refused).toMatchObject({ status: 503, json: { status: 503, code: 'idempotency_store_unavailable' } })
      expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(await sandbox.paymentsOf(body)).toEqual([])
      expect(await sandbox.recordsOf(key)).toEqual([])
      const accepted = await pay(sandbox, { key, body })
      expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([201, null])
    })

    test('is no conflict and no misuse: 409, 422 and 503 each have a code of their own [S2-015 S2-061]', async () => {
      const [key, body] = [randomUUID(), tea()]
      await pay(sandbox, { key, body })
      const misused = await pay(sandbox, { key, body: tea() })
      await locked(key)
      const collided = await pay(sandbox, { key, body })
      const failed = await sandbox.withoutDatabase(() => pay(sandbox, { key, body }))
      expect([collided, misused, failed].map(({ status, json }) => `${status} ${json.code}`)).toEqual([
        '409 idempotency_key_in_progress',
        '422 idempotency_key_reused_with_different_payload',
        '503 idempotency_store_unavailable',
      ])
    })

    test('cannot take the answer: then the client does not get it either, however the handler ended [S2-044 G-07]', async () => {
      const slow = await start({ env: { SANDBOX_DELAY_MS: '1000' } })
      const [key, body] = [randomUUID(), tea()]
      const running = pay(slow, { key, body })
      await untilRunning(slow, key)
      const refused = await slow.withoutDatabase(() => running)
      expect(refused.status).toBe(503)
      expect(await slow.paymentsOf(body)).toEqual([])
      await expect.poll(async () => (await pay(slow, { key, body })).status, { timeout: 10_000 }).toBe(201)
      expect(await slow.recordsOf(key)).toMatchObject([{ status: 'completed' }])
      expect(await slow.paymentsOf(body)).toHaveLength(1)
    })
  })

  describe('a key store that is down', () => {
    test('closes the API: 503 before any mutation, and afterwards everything goes on [S1-072 S1-104 S2-143]', async () => {
      const own = await start()
      const [before, during] = [
        { key: randomUUID(), body: tea() },
        { key: randomUUID(), body: tea() },
      ]
      const first = await pay(own, before)
      await own.withoutDatabase(async () => {
        for (const attempt of [before, during]) expect((await pay(own, attempt)).status).toBe(503)
      })
      expect([await own.paymentsOf(during.body), await own.recordsOf(during.key)]).toEqual([[], []])
      expect((await pay(own, before)).text).toBe(first.text)
      expect((await pay(own, during)).status).toBe(201)
    })
  })

  describe('a handler that failed without a trace', () => {
    test('lets the next request run, which finds nothing of the first [S2-022 S2-100]', async () => {
      const [key, body] = [randomUUID(), tea()]
      await failedPayment({ key, body })
      expect(await sandbox.recordsOf(key)).toMatchObject([{ status: 'failed_retryable', attempt: 1 }])
      expect(await sandbox.paymentsOf(body)).toEqual([])
      const accepted = await pay(sandbox, { key, body })
      expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([201, null])
      expect(await sandbox.recordsOf(key)).toMatchObject([{ status: 'completed', attempt: 2 }])
      expect(await sandbox.paymentsOf(body)).toHaveLength(1)
    })

    test('is one of four branches: go on, replay three times in a row, refuse another body, refuse while locked [S3-39]', async () => {
      const [key, body] = [randomUUID(), tea()]
      await failedPayment({ key, body })
      const created = await pay(sandbox, { key, body })
      expect(created.status).toBe(201)
      for (let time = 0; time < 3; time++) expect((await pay(sandbox, { key, body })).text).toBe(created.text)
      expect((await pay(sandbox, { key, body: tea() })).status).toBe(422)
      await locked(key)
      expect((await pay(sandbox, { key, body })).status).toBe(409)
      expect(await sandbox.paymentsOf(body)).toHaveLength(1)
    })
  })

  describe('the process', () => {
    test('killed the moment its answer arrived, and started again, gives the same bytes [S2-004]', async () => {
      const killed = await start()
      const [key, body] = [randomUUID(), tea()]
      const created = await pay(killed, { key, body })
      await killed.stop('SIGKILL')
      const next = await killed.another()
      const again = await pay(next, { key, body })
      expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, created.text, 'true'])
      expect(await killed.paymentsOf(body)).toHaveLength(1)
    })

    test('told to stop takes nothing new, lets the payment that runs finish, and leaves no lock behind [G-23]', async () => {
      const stopped = await start({ env: { SANDBOX_DELAY_MS: '1000' } })
      const [key, body] = [randomUUID(), tea()]
      const running = pay(stopped, { key, body })
      await untilRunning(stopped, key)
      const exited = stopped.stop('SIGTERM')
      expect((await running).status).toBe(201)
      expect(new Set(await exited)).toEqual(new Set([0]))
      expect(await stopped.recordsOf(key)).toMatchObject([{ status: 'completed' }])
      await expect(pay(stopped)).rejects.toThrow()
    })
  })

  test('a client that hangs up loses nothing: the payment is made once, and its retry gets it [G-06]', async () => {
    const slow = await start({ env: { SANDBOX_DELAY_MS: '1000' } })
    const [key, body] = [randomUUID(), tea()]
    const leave = new AbortController()
    const headers = { ...acme, 'content-type': 'application/json', 'idempotency-key': key }
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leave.signal }
    const left = expect(fetch(`${slow.url}/payments`, init)).rejects.toThrow()
    await untilRunning(slow, key)
    leave.abort()
    await left
    expect(await slow.recordsOf(key)).toMatchObject([{ status: 'in_progress' }])
    await expect.poll(() => slow.recordsOf(key), { timeout: 10_000 }).toMatchObject([{ status: 'completed' }])
    const retry = await pay(slow, { key, body })
    expect([retry.status, retry.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(await slow.paymentsOf(body)).toEqual([retry.json.id])
  })

  /** A payment whose row the database refuses, so that its transaction rolls back. */
  async function failedPayment(attempt: { readonly key: string; readonly body: Customer }): Promise<void> {
    const failed = await sandbox.refusing(attempt.body, () => pay(sandbox, attempt))
    expect(failed.status).toBeGreaterThanOrEqual(500)
  }

  /** The key looks as if its request ran. */
  function locked(key: string): Promise<void> {
    const until = sandbox.time(Date.now() + 60_000)
    return sandbox.change(key, `status = 'in_progress', response_status_code = NULL, locked_until = ${until}`)
  }
})

describe('a file that is damaged', () => {
  test('holds a damaged record: a 5xx with a code for whoever asks for it, and everybody else is served [S2-030]', async () => {
    const damages = {
      'no answer': 'response_status_code = NULL, response_body = NULL',
      'headers that are no JSON': "response_headers = '['",
      'evidence that is no JSON': "evidence = ''",
    }
    const sandbox = await startSandbox({ env: usual })
    for (const [damage, change] of Object.entries(damages)) {
      const [key, body] = [randomUUID(), tea()]
      await pay(sandbox, { key, body })
      scriptOn(
        databaseOf(sandbox),
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

describe('a key store of our own that is down', () => {
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
