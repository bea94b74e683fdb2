import { randomUUID } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { EventName } from 'hapax'
import { describe, expect, test } from 'vitest'
import { fault, orderAfter, post, withdrawal } from '../sandbox/marketplace-client.js'
import { type Answer, acme, ask, pay, tea } from '../sandbox/payment-client.js'
import { postgresTestDatabase } from '../sandbox/postgres-test-database.js'
import { startProviders } from '../sandbox/providers-process.js'
import { eventually, stateOf } from '../sandbox/sandbox-client.js'
import { emptyDirectory } from '../sandbox/sandbox-process.js'
import { onPostgres } from '../support/on-postgres.js'
import { withoutPostgres } from './support/black-box-postgres.js'
import { sandboxInside } from './support/sandbox-inside.js'

/** What the owner of the sandbox can see of it: which routes are guarded, and what is counted. */

/** Every route that may change something and has no key, and why that is right. */
const unguarded: Readonly<Record<string, string>> = {
  'DELETE /withdrawals/{id}': 'leaves the same, however often it comes: its row and its money move once, in one commit',
  'POST /topups/{id}/refresh': 'asks Airtm how it stands, as often as one likes',
  'POST /withdrawals/{id}/refresh': 'asks Airtm how it stands, as often as one likes',
  'POST /webhooks/airtm': 'is signed, and remembered by the id of its event',
  'POST /webhooks/trustless-work': 'is signed, and remembered by the id of its event',
  'POST /_providers/faults': 'belongs to the simulation, where two faults are two faults',
  'DELETE /_providers/faults': 'leaves the same, however often it comes',
  'POST /_providers/deliveries': 'has events delivered again, which are known by their ids',
  'PUT /_providers/settings': 'leaves the same, however often it comes',
  'POST /admin/*': 'is the admin API, which asks for a key of its own with every write',
}

const undeclared = ({ changing, guarded }: Pick<Awaited<ReturnType<typeof sandboxInside>>, 'changing' | 'guarded'>) =>
  changing.filter((route) => !guarded.includes(route) && !(route in unguarded))

test('every route that may change something is guarded, or stands in a list with a reason [S0-29 S0-30]', async () => {
  const sandbox = await sandboxInside({ HAPAX_DATA_DIR: await emptyDirectory() })
  expect(undeclared(sandbox)).toEqual([])
  expect(sandbox.guarded).toHaveLength(15)
  // The list is no place to forget something in.
  expect(Object.keys(unguarded).filter((route) => !sandbox.changing.includes(route))).toEqual([])
  expect(Object.keys(unguarded).filter((route) => sandbox.guarded.includes(route))).toEqual([])
})

test('a route that nobody has thought of is found [S0-29]', async () => {
  const sandbox = await sandboxInside({ HAPAX_DATA_DIR: await emptyDirectory() }, ['/gifts', '/gifts/:id/open'])
  expect(undeclared(sandbox)).toEqual(['POST /gifts', 'POST /gifts/{id}/open'])
})

describe('on the embedded database', () => {
  matrix(async () => {
    const dataDir = await emptyDirectory()
    const path = join(dataDir, 'hapax.db')
    return {
      env: { HAPAX_DATA_DIR: dataDir },
      async withoutDatabase(use) {
        await rename(path, `${path}.away`)
        return use().finally(() => rename(`${path}.away`, path))
      },
    }
  })
})

onPostgres('on PostgreSQL', () => {
  matrix(async () => {
    const { name, url } = await postgresTestDatabase()
    return { env: { DATABASE_URL: url }, withoutDatabase: (use) => withoutPostgres(name, use) }
  })
})

interface Ground {
  readonly env: Readonly<Record<string, string>>
  withoutDatabase<T>(use: () => Promise<T>): Promise<T>
}

/** Which of these events one request is counted as. */
const kinds = [
  'completed',
  'failed',
  'released',
  'mismatched',
  'met_in_progress',
  'store_failed',
] as const satisfies EventName[]

function matrix(ground: () => Promise<Ground>): void {
  test('a refusal of the business, a conflict, misuse and a broken store differ in status, code and what is counted [S2-145]', async () => {
    const { env, withoutDatabase } = await ground()
    const sandbox = await sandboxInside({ ...env, HAPAX_PROVIDERS_URL: (await startProviders()).url })
    const order = await orderAfter(sandbox, 'escrow/fund')
    await post(sandbox, `/orders/${order}/release`)
    const [key, body] = [randomUUID(), tea()]
    await pay(sandbox, { key, body })
    const seen = async (send: () => Promise<Answer>) => {
      const before = sandbox.counts()
      const { status, json } = await send()
      const after = sandbox.counts()
      const counted = kinds.filter((kind) => (after[kind] ?? 0) > (before[kind] ?? 0))
      const { code } = (json.error ?? json) as { code: string }
      return [status, code, ...counted]
    }

    const decline = { provider: 'card', operation: 'charge', mode: 'decline' }
    await fault(sandbox, decline)
    expect(await seen(() => pay(sandbox))).toEqual([402, 'card_declined', 'completed'])
    const tooMuch = { body: { ...withdrawal, amount: '999999.00' } }
    const broke = await seen(() => post(sandbox, '/withdrawals', tooMuch))
    expect(broke).toEqual([409, 'INSUFFICIENT_FUNDS', 'failed'])
    // Refused before the key is reserved, and so counted as nothing.
    expect(await seen(() => post(sandbox, `/orders/${order}/refund`))).toEqual([409, 'ORDER_RELEASED'])
    const misuse = 'idempotency_key_reused_with_different_payload'
    expect(await seen(() => pay(sandbox, { key, body: tea() }))).toEqual([422, misuse, 'mismatched'])

    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 3_000 })
    const slow = { key: randomUUID(), body: tea() }
    const running = pay(sandbox, slow)
    await eventually(async () => expect(await stateOf(sandbox, slow.key)).toBe('in_progress'))
    const conflict = await seen(() => pay(sandbox, slow))
    expect(conflict).toEqual([409, 'idempotency_key_in_progress', 'met_in_progress'])
    expect((await running).status).toBe(201)

    const down = await withoutDatabase(() => seen(() => pay(sandbox)))
    expect(down).toEqual([503, 'idempotency_store_unavailable', 'store_failed'])
  })

  test('a state that does not fit is refused before the key is reserved, and never keeps a retry from its answer', async () => {
    const sandbox = await sandboxInside({ ...(await ground()).env, HAPAX_PROVIDERS_URL: (await startProviders()).url })
    const order = await orderAfter(sandbox, 'escrow')
    const { id: withdrawn } = (await post(sandbox, '/withdrawals', { body: withdrawal })).json
    const key = randomUUID()
    const funded = await post(sandbox, `/orders/${order}/escrow/fund`, { key })
    await post(sandbox, `/orders/${order}/release`)
    await ask(sandbox, `/withdrawals/${withdrawn}`, { method: 'DELETE', headers: acme })

    const reserved = sandbox.counts().reserved
    const refused = ['reserve', 'escrow/fund', 'refund', 'disputes'].map((step) => `/orders/${order}/${step}`)
    for (const path of [...refused, `/withdrawals/${withdrawn}/commit`])
      expect([path, (await post(sandbox, path)).status]).toEqual([path, 409])
    expect(sandbox.counts().reserved).toBe(reserved)

    const again = await post(sandbox, `/orders/${order}/escrow/fund`, { key })
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([funded.text, 'true'])
    const misused = await post(sandbox, `/orders/${order}/refund`, { key })
    expect(misused).toMatchObject({ status: 409, json: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } } })
    const keyless = await post(sandbox, `/orders/${order}/refund`, { key: 'none' })
    expect(keyless).toMatchObject({ status: 400, json: { error: { code: 'IDEMPOTENCY_KEY_MISSING' } } })
  })
}
