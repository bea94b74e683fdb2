import type { Body, Confirm, Need, Operation } from './catalogue.js'
import { Refusal } from './refusal.js'

/** What an operation was asked for, once it is known to make sense. */
export interface Asked {
  readonly body: Body
  readonly confirm: Confirm
}

export function askedOf(operation: Operation, sent: unknown): Asked {
  const body = sent === undefined && operation.kind === 'move' ? {} : sent
  if (!isObject(body)) throw invalid('Send one JSON object.')
  for (const need of operation.needs) requirements[need](body)
  // Where it is not needed, a wrong one is refused all the same.
  if (amountIn(body) !== undefined) requirements.amount(body)
  return { body, confirm: confirmIn(operation, body) }
}

/** Whatever the caller calls it. */
export function amountIn(body: Body): unknown {
  return body.amount ?? body.amountCents
}

const requirements: Readonly<Record<Need, (body: Body) => void>> = {
  amount: (body) => {
    const amount = amountIn(body)
    const isDecimal = typeof amount === 'string' && /^\d{1,15}(\.\d{1,18})?$/.test(amount) && /[1-9]/.test(amount)
    const isWhole = typeof amount === 'number' && Number.isSafeInteger(amount) && amount > 0
    if (!isDecimal && !isWhole)
      throw invalid('amount, or amountCents, is a decimal string such as "100.00" or a whole number, above 0.')
  },
  currency: ({ currency }) => {
    if (typeof currency !== 'string' || !/^[A-Za-z]{3,12}$/.test(currency))
      throw invalid('currency has 3 to 12 letters.')
  },
  to: ({ to }) => refuseUnlessText('to', to),
  text: ({ text }) => refuseUnlessText('text', text),
  customer: ({ customer }) => refuseUnlessText('customer', customer),
  'destination.ref': ({ destination }) =>
    refuseUnlessText('destination.ref', isObject(destination) ? destination.ref : undefined),
  decision: ({ decision }) => {
    if (!['release', 'refund', 'split'].includes(String(decision)))
      throw invalid('decision is release, refund or split.')
  },
}

function refuseUnlessText(name: string, value: unknown): void {
  if (typeof value !== 'string' || value === '') throw invalid(`${name} is a text.`)
}

function confirmIn({ meanwhile, confirm, name }: Operation, body: Body): Confirm {
  const given = body.confirm ?? confirm
  if (given === 'now') return given
  if (given !== 'webhook' && given !== 'manual') throw invalid('confirm is now, webhook or manual.')
  if (meanwhile === undefined) throw invalid(`${name} is final at once: leave confirm out.`)
  return given
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(message: string): Refusal {
  return new Refusal(400, 'body_invalid', message)
}
