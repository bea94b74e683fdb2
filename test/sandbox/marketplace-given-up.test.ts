import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import Database from 'libsql'
import { expect, test } from 'vitest'
import { escrowCalls, expectBalanced, fault, get, orderAfter, post } from './marketplace-client.js'
import { tell } from './providers-process.js'
import { eventually } from './sandbox-client.js'
import { startSupervised } from './supervised-sandbox.js'

test('an order whose request was tried too often says which one that is, without its key, and goes on by it', async () => {
  const sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
  const id = await orderAfter(sandbox, 'escrow')
  const path = `/orders/${id}/escrow/fund`
  await fault(sandbox, { provider: 'trustless-work', operation: 'fund', mode: 'reset', times: 1_000 })
  const lost = randomUUID()
  expect((await post(sandbox, path, { key: lost })).status).toBe(502)
  // A day of attempts, all in vain: the next is one too many.
  const records = (sql: string) => {
    const database = new Database(join(sandbox.dataDir, 'hapax.db'), { timeout: 5_000 })
    try {
      return database.prepare(sql).all([lost]) as { last_error_code: string }[]
    } finally {
      database.close()
    }
  }
  records('UPDATE hapax_records SET attempt = 40 WHERE idempotency_key = ? RETURNING last_error_code')
  await eventually(async () => {
    const [record] = records('SELECT last_error_code FROM hapax_records WHERE idempotency_key = ?')
    expect(record?.last_error_code).toBe('resumed_too_often')
  })
  await tell(sandbox, 'DELETE', '/_providers/faults')

  const busy = await post(sandbox, path)
  expect(busy).toMatchObject({ status: 409, json: { error: { code: 'ORDER_BUSY' } } })
  expect(busy.text).toContain('A request to fund the escrow of this order')
  expect(busy.text).not.toContain(lost)
  const funded = await post(sandbox, path, { key: lost })
  expect(funded).toMatchObject({ status: 200, json: { id, status: 'ESCROW_FUNDED' } })
  expect((await post(sandbox, path)).json).toMatchObject({ status: 'ESCROW_FUNDED' })
  expect((await get(sandbox, `/orders/${id}`)).text).not.toContain(lost)
  expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1 })
  await expectBalanced(sandbox)
}, 60_000)
