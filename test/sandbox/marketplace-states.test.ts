import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { recordsOf } from './database.js'
import { balanceOf, buyer, disputedOrder, expectBalanced, fault, get, orderAfter, post } from './marketplace-client.js'
import { ledger, tell } from './providers-process.js'
import type { SandboxProcess } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

/** Every endpoint of an order, in every state that an order may be in. */

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await startSupervised()
})
afterEach(async () => {
  await tell(sandbox, 'DELETE', '/_providers/faults')
  await expectBalanced(sandbox)
})

const endpoints = ['reserve', 'escrow', 'escrow/fund', 'release', 'refund', 'disputes'] as const
type Endpoint = (typeof endpoints)[number]

/** What it answers: that it is done now, how it stands, or the code of a refusal. */
type Said = 'done' | 'as it stands' | 'STATE' | 'DISPUTED' | 'RELEASED' | 'REFUNDED'

interface State {
  readonly make: () => Promise<string>
  readonly status: string
  readonly said: readonly [Said, Said, Said, Said, Said, Said]
}

const ended = async (end: 'release' | 'refund') => {
  const id = await orderAfter(sandbox, 'escrow/fund')
  expect((await post(sandbox, `/orders/${id}/${end}`)).status).toBe(200)
  return id
}
const decided = async (decision: 'release' | 'refund') => {
  const { orderId, disputeId } = await disputedOrder(sandbox)
  expect((await post(sandbox, `/disputes/${disputeId}/resolve`, { body: { decision } })).status).toBe(200)
  return orderId
}

const S = 'as it stands'
const states: Readonly<Record<string, State>> = {
  'was created': {
    make: () => orderAfter(sandbox, 'none'),
    status: 'ORDER_CREATED',
    said: ['done', 'STATE', 'STATE', 'STATE', 'STATE', 'STATE'],
  },
  'has its money set aside': {
    make: () => orderAfter(sandbox, 'reserve'),
    status: 'FUNDS_RESERVED',
    said: [S, 'done', 'STATE', 'STATE', 'STATE', 'STATE'],
  },
  'has an escrow': {
    make: () => orderAfter(sandbox, 'escrow'),
    status: 'ESCROW_CREATING',
    said: [S, S, 'done', 'STATE', 'STATE', 'STATE'],
  },
  'is funded': {
    make: () => orderAfter(sandbox, 'escrow/fund'),
    status: 'ESCROW_FUNDED',
    said: [S, S, S, 'done', 'done', 'done'],
  },
  'is disputed': {
    make: async () => (await disputedOrder(sandbox)).orderId,
    status: 'ESCROW_FUNDED',
    said: [S, S, S, 'DISPUTED', 'DISPUTED', S],
  },
  'was released': {
    make: () => ended('release'),
    status: 'RELEASED',
    said: ['RELEASED', S, 'RELEASED', S, 'RELEASED', 'RELEASED'],
  },
  'was refunded': {
    make: () => ended('refund'),
    status: 'REFUNDED',
    said: ['REFUNDED', S, 'REFUNDED', 'REFUNDED', S, 'REFUNDED'],
  },
  'was released by a decision': {
    make: () => decided('release'),
    status: 'RELEASED',
    said: ['RELEASED', S, 'RELEASED', S, 'RELEASED', S],
  },
  'was refunded by a decision': {
    make: () => decided('refund'),
    status: 'REFUNDED',
    said: ['REFUNDED', S, 'REFUNDED', 'REFUNDED', S, S],
  },
}

const codes = {
  STATE: 'ORDER_STATE_INVALID',
  DISPUTED: 'ORDER_DISPUTED',
  RELEASED: 'ORDER_RELEASED',
  REFUNDED: 'ORDER_REFUNDED',
}

test.for(Object.entries(states))('an order that %s answers every endpoint as it should', async ([, state]) => {
  const id = await state.make()
  const before = await seen(id)
  expect(before.order.status).toBe(state.status)
  for (const [index, endpoint] of endpoints.entries()) {
    const said = state.said[index] ?? 'STATE'
    if (said === 'done') continue
    const key = randomUUID()
    const { status, json } = await post(sandbox, `/orders/${id}/${endpoint}`, { key })
    if (said === S) expect([endpoint, status, json]).toEqual([endpoint, 200, await standing(id, endpoint)])
    else {
      expect([endpoint, status, json]).toMatchObject([endpoint, 409, { error: { code: codes[said] } }])
      expect(recordsOf(sandbox.dataDir, key)).toEqual([])
    }
  }
  expect(await seen(id)).toEqual(before)
  // What it may be done with, it is done with: one order each.
  for (const endpoint of endpoints.filter((_, index) => state.said[index] === 'done')) {
    const { status, text } = await post(sandbox, `/orders/${await state.make()}/${endpoint}`)
    expect([endpoint, status, text]).toEqual([endpoint, wasCreated(endpoint) ? 201 : 200, text])
  }
})

test('an order that is being funded is busy for all but who asks whether its money is set aside', async () => {
  const id = await orderAfter(sandbox, 'escrow')
  await fault(sandbox, { provider: 'trustless-work', operation: 'fund', mode: 'timeout_before', times: 1_000 })
  const funding = randomUUID()
  const first = post(sandbox, `/orders/${id}/escrow/fund`, { key: funding })
  await expect.poll(async () => (await get(sandbox, `/orders/${id}`)).json.status).toBe('ESCROW_FUNDING')
  const answers = await Promise.all(endpoints.map((endpoint) => post(sandbox, `/orders/${id}/${endpoint}`)))
  expect(answers.map(({ status, json }) => [status, (json as { error?: { code: string } }).error?.code])).toEqual([
    [200, undefined],
    ...Array(5).fill([409, 'ORDER_BUSY']),
  ])
  // Whoever stands there for long is told what is under way and how to go on, and nobody's key.
  expect(answers[2]?.text).toContain('A request to fund the escrow of this order')
  for (const { text } of answers) expect(text).not.toContain(funding)
  await first
})

async function seen(id: string) {
  const { json } = await get(sandbox, `/orders/${id}`)
  return { order: json, provider: (await ledger(sandbox)).length, balance: await balanceOf(sandbox, buyer) }
}

/** What there is of what an endpoint makes. */
async function standing(id: string, endpoint: Endpoint): Promise<unknown> {
  if (endpoint === 'escrow') return (await get(sandbox, `/orders/${id}/escrow`)).json
  if (endpoint !== 'disputes') return (await get(sandbox, `/orders/${id}`)).json
  const { disputes } = (await get(sandbox, `/orders/${id}/disputes`)).json as { disputes: [unknown] }
  return disputes[0]
}

function wasCreated(endpoint: Endpoint): boolean {
  return endpoint === 'escrow' || endpoint === 'disputes'
}
