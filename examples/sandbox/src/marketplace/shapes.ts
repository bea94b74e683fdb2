import { currencies } from '../money/currencies.js'
import { id, object, oneOf, orNull, type Schema, text, time } from '../openapi/described.js'
import { decisions } from './requests.js'

/** What the marketplace takes and gives, as JSON Schema. */

const currency = { type: 'string', enum: [...currencies] }
const amount = { type: 'string', pattern: '^(0|[1-9]\\d{0,8})(\\.\\d{1,2})?$', examples: ['100.00'] }
const sum = { amount, currency }
const times = { created_at: time, updated_at: time }
const reason = text(1_000)
const decision = oneOf(...decisions)

const orderStatus = oneOf(
  'ORDER_CREATED',
  'FUNDS_RESERVED',
  'ESCROW_CREATING',
  'ESCROW_FUNDING',
  'ESCROW_FUNDED',
  'RELEASED',
  'REFUNDED',
)

export const requests = {
  topup: object({ user_id: id, ...sum }),
  order: object({ buyer_id: id, seller_id: id, ...sum, client_order_ref: orNull(text(255)) }, ['client_order_ref']),
  withdrawal: object({ user_id: id, ...sum, destination: object({ ref: text(255) }) }),
  dispute: object({ reason: orNull(reason) }, ['reason']),
  decision: object({ decision }),
} as const

export const shapes: Readonly<Record<string, Schema>> = {
  Topup: object({
    id,
    topup_id: id,
    status: oneOf('PENDING', 'CONFIRMED', 'FAILED'),
    user_id: id,
    ...sum,
    confirmation_uri: orNull({ type: 'string', format: 'uri' }),
    ...times,
  }),
  Order: object({
    id,
    order_id: id,
    status: orderStatus,
    buyer_id: id,
    seller_id: id,
    ...sum,
    client_order_ref: orNull(text(255)),
    escrow_id: orNull(id),
    dispute_id: orNull(id),
    ...times,
  }),
  Escrow: object({ id, escrow_id: id, order_id: id, status: orderStatus, ...sum, ...times }),
  Dispute: object({
    id,
    dispute_id: id,
    order_id: id,
    status: oneOf('OPEN', 'RESOLVED'),
    reason: orNull(reason),
    resolution: orNull(object({ decision, resolved_at: time })),
    created_at: time,
  }),
  Withdrawal: object({
    id,
    withdrawal_id: id,
    status: oneOf('CREATED', 'COMMITTED', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED'),
    user_id: id,
    ...sum,
    destination: object({ ref: text(255) }),
    ...times,
  }),
}
