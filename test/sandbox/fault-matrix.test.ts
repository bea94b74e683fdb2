import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { type Documented, documented, type OpenApi } from './documented.js'
import {
  disputedOrder,
  escrowCalls,
  expectBalanced,
  fault,
  get,
  orderAfter,
  payments,
  post,
  type Sent,
  topup,
  untilStatus,
  withdrawal,
} from './marketplace-client.js'
import { type Answer, tea } from './payment-client.js'
import { ledger, startProviders, tell } from './providers-process.js'
import { eventually, trip } from './sandbox-client.js'
import { type SandboxProcess, startSandbox } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

/** Every way to fail, at every operation that an answer waits for: done once, told as documented, and the books agree. */

let sandbox: SandboxProcess
let api: Documented
beforeAll(async () => {
  // So that a call gives up after two seconds.
  sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
  api = documented((await get(sandbox, '/openapi.json')).json as unknown as OpenApi)
})
afterEach(async () => {
  await tell(sandbox, 'DELETE', '/_providers/faults')
  await expectBalanced(sandbox)
})

interface Mode {
  readonly mode: string
  readonly ms?: number
  /** Whether the first answer is the last. */
  readonly first: 'answered' | 'declined' | 'lost'
}

const modes: Readonly<Record<string, Mode>> = {
  timeout_before: { mode: 'timeout_before', first: 'lost' },
  timeout_after_effect: { mode: 'timeout_after_effect', first: 'lost' },
  error_500_after_effect: { mode: 'error_500_after_effect', first: 'lost' },
  reset: { mode: 'reset', first: 'lost' },
  'slow, and in time': { mode: 'slow', ms: 500, first: 'answered' },
  'slow, and too late': { mode: 'slow', ms: 4_000, first: 'lost' },
  decline: { mode: 'decline', first: 'declined' },
}

/** One request whose partner fails, ready to be sent; `look` looks at what came of it. */
interface Case {
  readonly provider: string
  readonly operation: string
  readonly path: string
  readonly sent?: Sent
  /** A lost answer is told by one of these. */
  readonly lostAs: number
  readonly look: (last: Answer, how: 'done' | 'declined') => Promise<void>
}

test.for(Object.entries(modes))(
  '%s: each operation is done once or not at all, and a card is charged once or not at all',
  { timeout: 90_000 },
  async ([, mode]) => {
    // What leads to each of them is done before anybody fails.
    const cases = await Promise.all([
      step('create', 'reserve', 'escrow', ['ESCROW_CREATING', 'FUNDS_RESERVED'], '100.00'),
      step('fund', 'escrow', 'escrow/fund', ['ESCROW_FUNDED', 'ESCROW_CREATING'], '100.00'),
      step('release', 'escrow/fund', 'release', ['RELEASED', 'ESCROW_FUNDED'], '0.00'),
      step('refund', 'escrow/fund', 'refund', ['REFUNDED', 'ESCROW_FUNDED'], '0.00'),
      step('dispute', 'escrow/fund', 'disputes', ['ESCROW_FUNDED', 'ESCROW_FUNDED'], '100.00'),
      resolving(),
      topupOf(),
      payoutOf(),
    ])
    const { mode: name, ms, first } = mode
    await Promise.all([
      cardsCharged(mode),
      ...cases.map(async ({ provider, operation, path, sent, lostAs, look }) => {
        await fault(sandbox, { provider, operation, mode: name, ...(ms !== undefined && { ms }) })
        const [answer, last] = await sentUntilAnswered(path, sent)
        const expected = { answered: last.status, declined: 402, lost: lostAs }[first]
        expect([operation, answer.status, answer.text]).toEqual([operation, expected, answer.text])
        expect([operation, last.status]).toEqual([operation, first === 'declined' ? 402 : expect.toBeOneOf([200, 201])])
        await look(last, first === 'declined' ? 'declined' : 'done')
      }),
    ])
  },
)

/** One after the other: a payment and a ride are the same operation of the card processor, and the fault is for one of them. */
async function cardsCharged(mode: Mode): Promise<void> {
  const { mode: name, ms, first } = mode
  for (const [path, body, lostAs] of [
    ['/payments', tea(), 409],
    ['/rides', trip, isTimedOut(mode) ? 504 : 502],
  ] as const) {
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: name, ...(ms !== undefined && { ms }) })
    const [answer, last] = await sentUntilAnswered(path, { body })
    expect([path, answer.status, answer.text]).toEqual([
      path,
      { answered: 201, declined: 402, lost: lostAs }[first],
      answer.text,
    ])
    const charges = await ledger(sandbox, '?provider=card&operation=charge')
    const own = charges.filter(({ reference }) => reference === last.json.id)
    expect([path, last.status, own.length]).toEqual(first === 'declined' ? [path, 402, 0] : [path, 201, 1])
  }
}

test('providers that are not there are told as documented', async () => {
  const providers = await startProviders()
  const alone = await startSandbox({ env: { HAPAX_PROVIDERS_URL: providers.url, SANDBOX_LEASE_SECONDS: '3' } })
  const reserved = await orderAfter(alone, 'reserve')
  const { id } = (await post(alone, '/withdrawals', { body: withdrawal })).json
  await providers.stop('SIGKILL')
  for (const [path, body] of [
    ['/payments', tea()],
    ['/rides', trip],
    ['/topups', topup],
    [`/orders/${reserved}/escrow`, undefined],
    [`/withdrawals/${id}/commit`, undefined],
  ] as const) {
    const answer = await post(alone, path, body === undefined ? {} : { body })
    expect([path, answer.status, answer.text]).toEqual([path, 502, answer.text])
    api.check('POST', path, answer)
  }
})

/** We gave up first. */
function isTimedOut({ mode }: Mode): boolean {
  return mode.startsWith('timeout') || mode === 'slow'
}

/** The first answer, and the one that stays. Whatever is told on the way is documented. */
async function sentUntilAnswered(path: string, sent: Sent = {}): Promise<readonly [Answer, Answer]> {
  const whole = { ...sent, key: randomUUID() }
  const send = async () => {
    const answer = await post(sandbox, path, whole)
    api.check('POST', path, answer)
    return answer
  }
  const first = await send()
  const last = await eventually(async () => {
    const answer = await send()
    expect([answer.text, answer.status < 300 || answer.status === 402]).toEqual([answer.text, true])
    return answer
  })
  expect((await send()).text).toBe(last.text)
  return [first, last]
}

async function step(
  operation: string,
  before: 'reserve' | 'escrow' | 'escrow/fund',
  what: string,
  [done, declined]: readonly [string, string],
  held: string,
): Promise<Case> {
  const id = await orderAfter(sandbox, before)
  return {
    provider: 'trustless-work',
    operation,
    path: `/orders/${id}/${what}`,
    lostAs: 502,
    look: (_last, how) => looked(id, operation, how, how === 'done' ? [done, held] : [declined, '100.00']),
  }
}

async function resolving(): Promise<Case> {
  const { orderId, disputeId } = await disputedOrder(sandbox)
  return {
    provider: 'trustless-work',
    operation: 'resolve',
    path: `/disputes/${disputeId}/resolve`,
    sent: { body: { decision: 'refund' } },
    lostAs: 502,
    async look(_last, how) {
      await looked(orderId, 'resolve', how, how === 'done' ? ['REFUNDED', '0.00'] : ['ESCROW_FUNDED', '100.00'])
      const { status } = (await get(sandbox, `/disputes/${disputeId}`)).json
      expect(status).toBe(how === 'done' ? 'RESOLVED' : 'OPEN')
    },
  }
}

/** The order, what Trustless Work did about it, and the money that it holds. */
async function looked(id: string, operation: string, how: string, [status, held]: readonly [string, string]) {
  const { [operation]: times = 0 } = await escrowCalls(sandbox, id)
  const order = (await get(sandbox, `/orders/${id}`)).json
  expect([operation, order.status, times, await heldBy(`order:${id}`)]).toEqual([
    operation,
    status,
    how === 'done' ? 1 : 0,
    held,
  ])
}

async function topupOf(): Promise<Case> {
  return {
    provider: 'airtm',
    operation: 'payin',
    path: '/topups',
    sent: { body: topup },
    lostAs: 409,
    async look({ json }, how) {
      if (how === 'declined') {
        const { topups } = (await get(sandbox, '/topups?limit=1')).json as { topups: [{ id: string; status: string }] }
        expect([topups[0].status, await payments(sandbox, topups[0].id)]).toEqual(['FAILED', []])
        return
      }
      await untilStatus(sandbox, `/topups/${json.id}`, 'CONFIRMED')
      expect(await payments(sandbox, json.id)).toHaveLength(1)
    },
  }
}

async function payoutOf(): Promise<Case> {
  const { id } = (await post(sandbox, '/withdrawals', { body: withdrawal })).json
  return {
    provider: 'airtm',
    operation: 'payout',
    path: `/withdrawals/${id}/commit`,
    lostAs: 409,
    async look(_last, how) {
      await untilStatus(sandbox, `/withdrawals/${id}`, how === 'done' ? 'COMPLETED' : 'FAILED')
      expect(await payments(sandbox, id)).toHaveLength(how === 'done' ? 1 : 0)
      expect(await heldBy(`withdrawal:${id}`)).toBe('0.00')
    },
  }
}

interface Accounts {
  readonly accounts: readonly { readonly account: string; readonly balance: string }[]
}

async function heldBy(account: string): Promise<string> {
  const { accounts } = (await get(sandbox, '/ledger?limit=1')).json as unknown as Accounts
  return accounts.find((one) => one.account === account)?.balance ?? '0.00'
}
