import { ask } from './payment-client.js'
import type { Api } from './sandbox-process.js'

/** What a client of the bank sends: the published example, unless a test says otherwise. */

export const initech = { authorization: `Basic ${btoa('sk_test_BQokikJOvBiI2HlWgH4olfQ2:')}` }
export const asked = { amount: '2000', currency: 'usd', description: 'test', customer: 'cus_AGJ6FJMkGQIpHUTX' }

interface WithdrawalTry {
  readonly key?: string
  readonly form?: Readonly<Record<string, string>> | string
  readonly client?: { readonly authorization: string }
  /** What `Content-Digest` says of the form, right or wrong. */
  readonly digest?: string
}

export function withdraw(sandbox: Api, { key, form = asked, client = initech, digest }: WithdrawalTry = {}) {
  const headers = {
    ...client,
    'content-type': 'application/x-www-form-urlencoded',
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(digest !== undefined && { 'content-digest': digest }),
  }
  const body = typeof form === 'string' ? form : new URLSearchParams(form).toString()
  return ask(sandbox, '/sb/v1/withdraw', { method: 'POST', headers, body })
}
