import { type Rows, rowsOf } from '../database/database.js'
import { amountSyntax, minorUnitsOf } from '../money/amounts.js'
import { type Currency, currencies, isCurrency } from '../money/currencies.js'
import { hasUser } from '../money/users.js'
import type { Sandbox } from '../sandbox.js'
import { type Fields, invalid, isObject, isText, notFound } from '../web/fields.js'
import { isId } from '../web/ids.js'

/** What clients may ask for. Each reads a body, or says what is wrong with it; members that it does not know are ignored. */

export interface Sum {
  /** As it was written. */
  readonly amount: string
  readonly currency: Currency
}

export interface TopupRequest extends Sum {
  readonly userId: string
}

export interface OrderRequest extends Sum {
  readonly buyerId: string
  readonly sellerId: string
  readonly clientOrderRef: string | null
}

export interface WithdrawalRequest extends Sum {
  readonly userId: string
  readonly destination: { readonly ref: string }
}

export interface DisputeRequest {
  readonly reason: string | null
}

export const decisions = ['release', 'refund'] as const
export type Decision = (typeof decisions)[number]

export function topupRequestOf(body: unknown): TopupRequest {
  const members = membersOf(body)
  return { userId: idIn(members, 'user_id'), ...sumIn(members) }
}

export function orderRequestOf(body: unknown): OrderRequest {
  const members = membersOf(body)
  const [buyerId, sellerId] = [idIn(members, 'buyer_id'), idIn(members, 'seller_id')]
  if (buyerId === sellerId) throw invalid('buyer_id and seller_id are two different users.')
  return { buyerId, sellerId, ...sumIn(members), clientOrderRef: textIn(members, 'client_order_ref', 255) }
}

export function withdrawalRequestOf(body: unknown): WithdrawalRequest {
  const members = membersOf(body)
  const destination = membersOf(members.destination, 'destination')
  const ref = textIn(destination, 'ref', 255, 'destination.ref')
  if (ref === null) throw invalid('destination.ref says where the money goes: a text of 1 to 255 characters.')
  return { userId: idIn(members, 'user_id'), ...sumIn(members), destination: { ref } }
}

/** Whoever has nothing to say sends no body, or an object in which nothing is looked at. */
export function emptyBodyOf(body: unknown): Fields {
  return membersOf(body ?? {})
}

export function disputeRequestOf(body: unknown): DisputeRequest {
  return { reason: textIn(emptyBodyOf(body), 'reason', 1_000) }
}

export function decisionOf(body: unknown): Decision {
  const { decision } = membersOf(body)
  const known = decisions.find((one) => one === decision)
  if (known === undefined) throw invalid(`decision is one of ${decisions.join(', ')}.`)
  return known
}

export async function requireUsers(sandbox: Sandbox, tenant: string, ...ids: readonly string[]): Promise<void> {
  const rows: Rows = rowsOf(sandbox.database)
  for (const id of ids) if (!(await hasUser(rows, tenant, id))) throw notFound('user')
}

function membersOf(value: unknown, name = 'The body'): Fields {
  if (isObject(value)) return value
  throw invalid(`${name} must be a JSON object.`)
}

function idIn(members: Fields, name: string): string {
  const { [name]: id } = members
  if (!isId(id)) throw invalid(`${name} must be an id: 1 to 64 letters, digits, "_" and "-".`)
  return id
}

function sumIn({ amount, currency }: Fields): Sum {
  if (minorUnitsOf(amount) === undefined) throw invalid(`amount must be ${amountSyntax}.`)
  if (!isCurrency(currency)) throw invalid(`currency must be one of ${currencies.join(', ')}.`)
  return { amount: String(amount), currency }
}

/** `null` where there is none. */
function textIn(members: Fields, name: string, longest: number, where = name): string | null {
  const { [name]: text = null } = members
  if (text === null || isText(text, longest)) return text
  throw invalid(`${where} must be a text of 1 to ${longest} characters, not blank, without control characters.`)
}
