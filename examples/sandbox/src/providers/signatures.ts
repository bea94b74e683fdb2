import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import type { Provider } from './catalogue.js'

/** The headers that show who sent an event. Made anew for every delivery. */
export type Sign = (eventId: string, body: string) => Readonly<Record<string, string>>

/** Known to everybody: nothing here is real. The environment may have others. */
const secrets = {
  standard: process.env.AIRTM_WEBHOOK_SECRET || 'whsec_c2FuZGJveC1haXJ0bS13ZWJob29rLXNlY3JldA==',
  stripe: process.env.TRUSTLESS_WORK_WEBHOOK_SECRET || 'whsec_sandbox_trustless_work',
}

const schemes: Readonly<Record<NonNullable<Provider['signs']>, Sign>> = {
  standard(eventId, body) {
    const key = Buffer.from(secrets.standard.replace(/^whsec_/, ''), 'base64')
    const timestamp = seconds()
    const signature = createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64')
    return { 'webhook-id': eventId, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
  },
  stripe(_eventId, body) {
    const timestamp = seconds()
    const signature = createHmac('sha256', secrets.stripe).update(`${timestamp}.${body}`).digest('hex')
    return { 'stripe-signature': `t=${timestamp},v1=${signature}` }
  },
}

export function signOf({ signs }: Provider): Sign | undefined {
  return signs && schemes[signs]
}

function seconds(): string {
  return String(Math.floor(Date.now() / 1_000))
}
