import type { Engine } from 'hapax'
import { type Database, type Rows, rowsIn, type Transaction } from '../database/database.js'
import { amountOf } from './amounts.js'
import { transfer } from './ledger.js'

export interface User {
  readonly id: string
  readonly name: string
  /** By currency, as decimal strings. */
  readonly balances: Readonly<Record<string, string>>
}

const people = [
  { id: 'usr_acme_ada', tenant: 'acme', name: 'Ada' },
  { id: 'usr_acme_bo', tenant: 'acme', name: 'Bo' },
  { id: 'usr_globex_cleo', tenant: 'globex', name: 'Cleo' },
  { id: 'usr_globex_dan', tenant: 'globex', name: 'Dan' },
] as const

/** 10,000.00 USD. */
const opening = 1_000_000n

/**
 * Gives every tenant its users and their money, once and for ever, whichever node comes first: a function is guarded as a
 * route is, here as one transaction.
 */
export async function seedUsers(hapax: Engine<Transaction>, database: Database): Promise<void> {
  const policy = hapax.policy({
    name: 'sandbox.seed',
    mode: 'transaction',
    retention: 'forever',
    concurrency: 'wait',
  })
  await hapax.run({ scope: 'sandbox', key: 'users', policy }, (work) =>
    work.commit(async ({ tx }) => {
      for (const person of people) await welcome(rowsIn(database, tx), person)
      return { users: people.length }
    }),
  )
}

async function welcome(rows: Rows, { id, tenant, name }: (typeof people)[number]): Promise<void> {
  await rows.run(rows.db.insertInto('users').values({ id, tenant, name, created_at: new Date().toISOString() }))
  await transfer(rows, {
    tenant,
    cause: `opening:${id}`,
    from: 'world:opening',
    to: `user:${id}`,
    amount: opening,
    currency: 'USD',
  })
}

/** Somebody else's user does not exist. */
export async function hasUser(rows: Rows, tenant: string, id: string): Promise<boolean> {
  const query = rows.db.selectFrom('users').select('id').where('tenant', '=', tenant).where('id', '=', id)
  return (await rows.run(query)).length > 0
}

export async function usersOf(rows: Rows, tenant: string): Promise<readonly User[]> {
  const { db } = rows
  const users = await rows.run(db.selectFrom('users').selectAll().where('tenant', '=', tenant).orderBy('id'))
  const accounts = await rows.run(db.selectFrom('accounts').selectAll().where('tenant', '=', tenant))
  const balancesOf = (id: string) =>
    Object.fromEntries(
      accounts
        .filter((account) => account.id === `user:${id}`)
        .map(({ currency, balance }) => [String(currency), amountOf(BigInt(String(balance)))]),
    )
  return users.map(({ id, name }) => ({ id: String(id), name: String(name), balances: balancesOf(String(id)) }))
}
