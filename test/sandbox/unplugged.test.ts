import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { postgresTestDatabase } from './postgres-test-database.js'
import type { SandboxProcess } from './sandbox-process.js'
import { apiOf, startSupervised, untilRestarted } from './supervised-sandbox.js'
import { keepBusy, kinds, nothingTold, type Told, tenants } from './unplugged-clients.js'
import { type Totals, totalsOf } from './unplugged-totals.js'

/** At some moment of this long after it serves, the API is killed. */
const longestMs = 200
/** Of six kinds, those of each kind of both tenants. */
const clients = 24
const title = (kills: number) =>
  `killed ${kills} times under ${clients} clients, the API loses no ride, payment, top-up, withdrawal, order or dispute ` +
  'that it acknowledged, and does nothing twice'

test(title(50), () => unplug(50, {}), 600_000)

onPostgres('on PostgreSQL', () => {
  test(title(12), async () => unplug(12, { DATABASE_URL: (await postgresTestDatabase()).url }), 300_000)
})

async function unplug(kills: number, env: Record<string, string>): Promise<void> {
  const sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '2', ...env } })
  const told = nothingTold()
  const over = new AbortController()
  const busy = keepBusy(sandbox, clients, told, over.signal)
  const killed = await Promise.race([killAgainAndAgain(sandbox, kills), busy.then(() => 0)])
  over.abort()
  await busy
  const found = await totalsOf(sandbox)
  print(killed, told, found)
  expect(killed).toBe(kills)
  expectKilledAlive(sandbox, kills, told)
  expectAllKinds(told)
  expectAgreed(told, found)
}

/** Counts those whom the signal has found alive: `process.kill` throws where nobody is. */
async function killAgainAndAgain(sandbox: SandboxProcess, kills: number): Promise<number> {
  let { pid } = await apiOf(sandbox)
  let killed = 0
  while (killed < kills) {
    await delay(randomInt(0, longestMs))
    process.kill(pid, 'SIGKILL')
    killed++
    pid = await untilRestarted(sandbox, pid)
  }
  return killed
}

/** The supervisor has seen each of them end by the signal, after it served; and clients lost answers by it. */
function expectKilledAlive({ printed }: SandboxProcess, kills: number, told: Told): void {
  expect(printed.stderr.match(/^the API \(pid \d+\) ended by SIGKILL: starting it again$/gm)).toHaveLength(kills)
  expect(told.brokenOff).toBeGreaterThan(kills)
}

/** Every client was told of what it had begun under the kills, however few they let through on a busy machine. */
function expectAllKinds(told: Told): void {
  const all = Object.keys(kinds) as (keyof typeof kinds)[]
  for (const kind of all) expect([kind, told[kind].length >= clients / all.length]).toEqual([kind, true])
}

function expectAgreed(told: Told, found: Totals): void {
  const orders = [...told.released, ...told.disputed]
  const ids = (those: readonly { readonly id: string }[]) => those.map(({ id }) => id).sort()
  const byStatus = (map: ReadonlyMap<string, readonly string[]>) =>
    Object.fromEntries([...map].map(([status, those]) => [status, [...those].sort()]))
  // Whoever was told yes finds it; what is stored was told to somebody, since no client gives up. Nothing is half-done.
  expect(byStatus(found.rides)).toEqual({ paid: ids(told.rides) })
  expect(byStatus(found.payments)).toEqual({ succeeded: ids(told.payments) })
  expect(byStatus(found.topups)).toEqual({ CONFIRMED: ids(told.topups) })
  expect(byStatus(found.withdrawals)).toEqual({ COMPLETED: ids(told.withdrawals) })
  expect(byStatus(found.orders)).toEqual({ RELEASED: ids(told.released), REFUNDED: ids(told.disputed) })
  expect(byStatus(found.disputes)).toEqual({ RESOLVED: told.disputed.map(({ disputeId }) => disputeId).sort() })
  // And the world outside agrees: once each.
  const paid = [...told.rides, ...told.payments]
  expect([...found.charged].sort()).toEqual(ids(paid))
  expect(found.chargedCents).toBe(paid.reduce((sum, { amountCents }) => sum + amountCents, 0))
  expect([...found.paidIn].sort()).toEqual(ids(told.topups))
  expect([...found.paidOut].sort()).toEqual(ids(told.withdrawals))
  expectEscrows(told, found.escrows)
  expect(found.escrows.create).toHaveLength(orders.length)
  for (const { tenant, ...books } of found.books) {
    const sold = told.released.filter((order) => order.tenant === tenant).length
    const toppedUp = 2 * told.topups.filter((topup) => topup.tenant === tenant).length
    const withdrawn = 3 * told.withdrawals.filter((withdrawal) => withdrawal.tenant === tenant).length
    const [buyer, seller] = [10_000 - sold + toppedUp, 10_000 + sold - withdrawn].map((dollars) => `${dollars}.00`)
    const expected = { buyer, seller, sum: '0.00', held: 0 }
    expect([tenant, books]).toEqual([tenant, expected])
  }
}

/** Each made and funded once, and then released, or disputed and resolved. */
function expectEscrows(told: Told, escrows: Totals['escrows']): void {
  const theirs = new Map(escrows.create.map(({ reference, object }) => [reference, object]))
  const objects = (those: readonly { readonly escrowId: string }[]) =>
    those.map(({ escrowId }) => theirs.get(escrowId)).sort()
  const done = (operation: keyof typeof escrows) => escrows[operation].map(({ object }) => object).sort()
  expect(done('create')).toEqual(objects([...told.released, ...told.disputed]))
  expect(done('fund')).toEqual(done('create'))
  expect(done('release')).toEqual(objects(told.released))
  expect(done('dispute')).toEqual(objects(told.disputed))
  expect(done('resolve')).toEqual(objects(told.disputed))
  expect(done('refund')).toEqual([])
}

function print(killed: number, told: Told, found: Totals): void {
  const { escrows, books } = found
  const count = (map: ReadonlyMap<string, readonly string[]>) =>
    [...map].map(([status, { length }]) => `${length} ${status}`).join(' and ')
  console.log(
    `the API was killed ${killed} times under ${clients} clients of ${tenants.length} tenants, in the middle of ${told.brokenOff} requests:\n` +
      `  acknowledged: ${told.rides.length} rides, ${told.payments.length} payments, ${told.topups.length} top-ups, ${told.withdrawals.length} withdrawals,` +
      ` ${told.released.length} orders released, ${told.disputed.length} disputed and refunded\n` +
      `  stored:       rides ${count(found.rides)}, payments ${count(found.payments)}, top-ups ${count(found.topups)}, withdrawals ${count(found.withdrawals)},` +
      ` orders ${count(found.orders)}, disputes ${count(found.disputes)}\n` +
      `  providers:    ${found.charged.length} charges, ${found.paidIn.length} pay-ins, ${found.paidOut.length} pay-outs, ${escrows.create.length} escrows made,` +
      ` ${escrows.fund.length} funded, ${escrows.release.length} released, ${escrows.dispute.length} disputed, ${escrows.resolve.length} resolved\n` +
      books.map(({ tenant, buyer, seller, sum }) => `  ${tenant}: ${buyer} and ${seller} USD, sum ${sum}`).join('\n'),
  )
}
