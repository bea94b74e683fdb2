import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Api } from './sandbox-process.js'

/** What the sandbox is asked, over real HTTP, and what it answers. */

export const coffee = { customerId: 'cus_1', amountCents: 450, currency: 'USD' }
/** A payment of a customer whom no other test knows. */
export const tea = () => ({ ...coffee, customerId: `cus_${randomUUID()}` })
export const acme = { authorization: 'Bearer ohk_test_acme' }
export const globex = { authorization: 'Bearer ohk_test_globex' }

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

export async function ask({ url }: Api, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url + path, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}

export interface PaymentTry {
  /** The Idempotency-Key header as it is sent; a new one for every try that names none. */
  readonly key?: string
  readonly body?: unknown
  readonly tenant?: { readonly authorization: string }
}

export function pay(sandbox: Api, { key = randomUUID(), body = coffee, tenant = acme }: PaymentTry = {}) {
  return post(sandbox, JSON.stringify(body), { ...tenant, 'idempotency-key': key })
}

/** A body as it is, with the headers given and `Content-Type: application/json` unless they name another. */
export function post(sandbox: Api, body: string | Uint8Array, headers: Record<string, string>) {
  return ask(sandbox, '/payments', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
}

/** Bytes that no HTTP client would send, and the whole text that comes back. */
export async function exchange({ url }: Api, request: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  socket.write(request, 'latin1')
  return text(socket)
}

/** A payment as bytes, with the header lines given. Unless it is kept alive, the connection closes behind the answer. */
export function rawPayment(
  payment: unknown,
  headerLines: readonly string[],
  connection: 'close' | 'keep-alive' = 'close',
): string {
  const body = JSON.stringify(payment)
  const lines = [
    'POST /payments HTTP/1.1',
    'Host: sandbox',
    `Connection: ${connection}`,
    'Authorization: Bearer ohk_test_acme',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...headerLines,
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
