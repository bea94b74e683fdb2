import { type Database, type Rows, rowsOf } from '../database/database.js'
import { amountOf } from './amounts.js'

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

const tenants = ['acme', 'globex'] as const

/** 10,000.00 USD. */
const opening = 1_000_000n
const currency = 'USD'

/**
 * Gives every tenant its users and their money, unless it has them. Each statement is harmless when it is repeated, and the
 * balances are one of them: whichever node comes first, and wherever it is killed, the accounts sum to zero.
 */
export async function seedUsers(database: Database): Promise<void> {
  const { db, run } = rowsOf(database)
  const created_at = new Date().toISOString()
  const users = people.map((person) => ({ ...person, created_at }))
  const accounts = people.map(({ id, tenant }) => ({ tenant, id: `user:${id}`, currency, balance: opening }))
  const world = tenants.map((tenant) => {
    const own = people.filter((person) => person.tenant === tenant)
    return { tenant, id: 'world:opening', currency, balance: -opening * BigInt(own.length) }
  })
  // Before every other in a list.
  const transferOf = (id: string) => `tr_000000000${id}`
  const transfers = people.map(({ id, tenant }) => ({ id: transferOf(id), tenant, cause: `opening:${id}`, created_at }))
  const entries = people.flatMap(({ id }) => [
    { transfer_id: transferOf(id), account_id: `user:${id}`, currency, amount: opening },
    { transfer_id: transferOf(id), account_id: 'world:opening', currency, amount: -opening },
  ])
  await run(
    db
      .insertInto('users')
      .values(users)
      .onConflict((conflict) => conflict.doNothing()),
  )
  await run(
    db
      .insertInto('accounts')
      .values([...accounts, ...world])
      .onConflict((conflict) => conflict.doNothing()),
  )
  await run(
    db
      .insertInto('transfers')
      .values(transfers)
      .onConflict((conflict) => conflict.doNothing()),
  )
  await run(
    db
      .insertInto('entries')
      .values(entries)
      .onConflict((conflict) => conflict.doNothing()),
  )
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
