import { randomUUID } from 'node:crypto'
import type { PolicyOptions, Work } from 'hapax'
import type { SqliteTransaction } from 'hapax/sqlite'
import { beforeAll, describe, expect, test } from 'vitest'
import { acme, pay, post, tea } from '../sandbox/payment-client.js'
import { answer, ask, seen } from './support/ask.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { recordOf, sqlOn } from './support/database.js'
import { crashHalfWay } from './support/killed-node.js'
import { lossyProxy } from './support/lossy-proxy.js'
import { openShop } from './support/shop.js'
import { noon } from './support/times.js'

/** What goes wrong, for real, and what a retry with the same key then gets. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  describe('the network', () => {
    test('loses a request before the server sees it: the retry is processed as the first [S0-35]', async () => {
      const network = await lossyProxy(sandbox)
      const attempt = { key: randomUUID(), body: tea() }
      network.loses(() => 'request')
      await expect(pay(network.sandbox, attempt)).rejects.toThrow()
      network.loses(() => 'nothing')
      expect(await sandbox.recordsOf(attempt.key)).toEqual([])
      const retry = await pay(network.sandbox, attempt)
      expect([retry.status, retry.headers.get('idempotent-replayed')]).toEqual([201, null])
      expect(await sandbox.paymentsOf(attempt.body)).toEqual([retry.json.id])
    })

    test('loses the answer after the commit: the retry gets the stored success [S0-38]', async () => {
      const network = await lossyProxy(sandbox)
      const attempt = { key: randomUUID(), body: tea() }
      network.loses(() => 'answer')
      await expect(pay(network.sandbox, attempt)).rejects.toThrow()
      network.loses(() => 'nothing')
      const created = await sandbox.paymentsOf(attempt.body)
      expect(created).toHaveLength(1)
      const retry = await pay(network.sandbox, attempt)
      expect([retry.status, retry.headers.get('idempotent-replayed'), retry.json.id]).toEqual([201, 'true', created[0]])
      expect(await sandbox.paymentsOf(attempt.body)).toEqual(created)
    })
  })

  describe('an operation', () => {
    test('that was answered with a 5xx is tried afresh by its retry, whose answer is the one that is kept [S1-042 S1-084 S1-105]', async () => {
      const attempt = { key: randomUUID(), body: tea() }
      const failed = await sandbox.refusing(attempt.body, async () => [
        await pay(sandbox, attempt),
        await pay(sandbox, attempt),
      ])
      const seen = [...failed, await pay(sandbox, attempt), await pay(sandbox, attempt)]
      expect(seen.map(({ status, headers }) => `${status} ${headers.get('idempotent-replayed')}`)).toEqual([
        '503 null',
        '503 null',
        '201 null',
        '201 true',
      ])
      expect(seen[3]?.text).toBe(seen[2]?.text)
      expect(await sandbox.recordsOf(attempt.key)).toMatchObject([{ status: 'completed', attempt: 3 }])
      expect(await sandbox.paymentsOf(attempt.body)).toEqual([seen[2]?.json.id])
    })

    test('that fails inside its transaction leaves nothing, and its key may be tried again [S0-36 S4-61]', async () => {
      const attempt = { key: randomUUID(), body: tea() }
      const failed = await sandbox.refusing(attempt.body, () => pay(sandbox, attempt))
      expect(failed.status).toBeGreaterThanOrEqual(500)
      expect(await sandbox.paymentsOf(attempt.body)).toEqual([])
      expect(await sandbox.recordsOf(attempt.key)).toMatchObject([{ status: 'failed_retryable', attempt: 1 }])
      const retry = await pay(sandbox, attempt)
      expect([retry.status, retry.headers.get('idempotent-replayed')]).toEqual([201, null])
      expect(await sandbox.paymentsOf(attempt.body)).toEqual([retry.json.id])
      expect(await sandbox.recordsOf(attempt.key)).toMatchObject([{ status: 'completed', attempt: 2 }])
    })

    test('that was refused before it began stores nothing: corrected, it runs under the same key', async () => {
      const [key, body] = [randomUUID(), tea()]
      const send = (text: string, headers = {}) => post(sandbox, text, { ...acme, 'idempotency-key': key, ...headers })
      const refused = [
        await send('{'),
        await send(JSON.stringify({ ...body, amountCents: -1 })),
        await send(JSON.stringify(body), { 'content-type': 'text/plain' }),
        await send(JSON.stringify(body), { authorization: 'Bearer expired' }),
      ]
      expect(refused.map(({ status }) => status)).toEqual([400, 400, 415, 401])
      expect(await sandbox.recordsOf(key)).toEqual([])
      const corrected = await send(JSON.stringify(body))
      expect([corrected.status, corrected.headers.get('idempotent-replayed')]).toEqual([201, null])
      expect((await send(JSON.stringify(body))).text).toBe(corrected.text)
    })
  })

  describe('a record', () => {
    test('survives kill -9 of the server and its database: the answer is replayed byte for byte [S1-054]', async () => {
      const killed = await start()
      const attempt = { key: randomUUID(), body: tea() }
      const first = await pay(killed, attempt)
      await killed.stop('SIGKILL')
      const restarted = await killed.another()
      const again = await pay(restarted, attempt)
      expect([again.status, again.headers.get('idempotent-replayed'), again.text]).toEqual([201, 'true', first.text])
      expect(await killed.paymentsOf(attempt.body)).toEqual([first.json.id])
    })
  })
})

describe('a record of our own', () => {
  test('is marked, never dropped, when its handler throws, doubts or is killed after it began [X-24]', async () => {
    const { hapax, policy, path, at, charge, charges } = await openShop()
    await at(noon)
    const run = (
      key: string,
      options: Partial<PolicyOptions>,
      handler: (work: Work<SqliteTransaction>) => Promise<unknown>,
    ) => hapax.run({ scope: 'acme', key, policy: policy(options) }, handler)
    const throwing = async () => {
      await charge('ch_1')
      throw new Error('after the charge')
    }
    const doubting = async (work: Work<SqliteTransaction>) => {
      await charge('ch_2')
      work.doubt('timed out')
    }
    await expect(run('retryable', { onError: 'retry' }, throwing)).rejects.toThrow('after the charge')
    await expect(run('threw', { onError: 'unknown' }, throwing)).rejects.toMatchObject({ code: 'outcome_unknown' })
    await expect(run('doubted', {}, doubting)).rejects.toMatchObject({ code: 'outcome_unknown' })
    await crashHalfWay({ path, key: 'killed', lease: '30s', where: 'handler' })
    await at(noon + 30_000)

    expect(recordOf(path, 'retryable')).toMatchObject({ status: 'failed_retryable', last_error_code: 'Error' })
    for (const key of ['threw', 'doubted', 'killed']) {
      await expect(run(key, {}, throwing), key).rejects.toMatchObject({ code: 'outcome_unknown' })
      expect(recordOf(path, key).status, key).toBe('unknown')
    }
    expect(charges).toEqual(['ch_1', 'ch_1', 'ch_2'])
  })
})

describe('an operation of our own', () => {
  test('whose process is killed inside its transaction is rolled back, and the retry runs it whole [S0-36]', async () => {
    const { hapax, policy, path, at } = await openShop()
    const payments = () => sqlOn(path, 'SELECT made_by FROM payments')
    await at(noon)
    await crashHalfWay({ path, key: 'k', lease: '30s', onCrash: 'retry', where: 'transaction' })
    expect([payments(), recordOf(path, 'k').status]).toEqual([[], 'in_progress'])
    await at(noon + 30_000)
    const retry = await hapax.run({ scope: 'acme', key: 'k', policy: policy({ onCrash: 'retry' }) }, (work) =>
      work.commit(async ({ tx }) => {
        await tx.run({ sql: 'INSERT INTO payments (made_by) VALUES (?)', parameters: ['the retry'] })
        return 'paid'
      }),
    )
    expect([retry.value, retry.replayed, payments()]).toEqual(['paid', false, [{ made_by: 'the retry' }]])
  })

  test('that answers 500 is tried afresh; one that answers below is not [S1-042 S1-084 S1-105]', async () => {
    const { hapax, policy, path } = await openShop()
    for (const { first, retry, attempts } of [
      { first: 500, retry: '201 of attempt 2', attempts: 2 },
      { first: 503, retry: '201 of attempt 2', attempts: 2 },
      { first: 201, retry: '201 of attempt 1 again', attempts: 1 },
      { first: 404, retry: '404 of attempt 1 again', attempts: 1 },
    ]) {
      const request = { policy: policy(), key: `first-${first}` }
      const answering = (status: number) =>
        ask(hapax, request, async ({ attempt }) => answer(status, `of attempt ${attempt}`))
      expect(seen(await answering(first))).toBe(`${first} of attempt 1`)
      expect(seen(await answering(201))).toBe(retry)
      expect(recordOf(path, request.key)).toMatchObject({ status: 'completed', attempt: attempts })
    }
  })

  test('that ends in an error is a result like any other: a declined card stays declined [R-14]', async () => {
    const { hapax, policy, charge, charges } = await openShop()
    const pay = (key: string, status: number) =>
      ask(hapax, { policy: policy(), key }, async () => answer(status, (await charge(key)).charge))
    for (const [key, status] of [
      ['paid', 201],
      ['declined', 402],
      ['conflict', 409],
    ] as const) {
      expect(seen(await pay(key, status))).toBe(`${status} ${key}`)
      expect(seen(await pay(key, 200))).toBe(`${status} ${key} again`)
    }
    expect(charges).toEqual(['paid', 'declined', 'conflict'])
  })
})
