import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Answer, profiles } from 'hapax'
import { type AnswerError, guard } from 'hapax/node'
import { onTestFinished } from 'vitest'
import { bench } from '../../support/bench.js'
import { gate } from '../../support/waiting.js'

/** One guarded route on a real port, in a profile. */

export type Name = keyof typeof profiles
export type Options = Partial<Parameters<typeof guard>[1]>

export const names = Object.keys(profiles) as Name[]
export const hour = 3_600_000
export const key = '8e03978e-40d5-43dd-bc93-6894a57f9324'

export interface Got {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The handler is given how often it ran. What it throws becomes a 500 of the application, as in any framework. */
export async function api(
  profile: Name,
  options: Options = {},
  handler: (runs: number) => Answer | Promise<Answer> = (runs) => json(201, { id: runs }),
) {
  const given = bench()
  let runs = 0
  const current: Options = profile === 'finastra' ? { currentState: () => undefined } : {}
  const route = { name: 'orders.create', scope: () => 'acme', profile: profiles[profile], ...current, ...options }
  const answerError: AnswerError = (_error, _request, response) =>
    void response.writeHead(500).end('the application failed')
  const orders = guard(given.hapax, { ...route, answerError }, () => handler(++runs))
  const server = createServer((request, response) => void orders(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return {
    ...given,
    runs: () => runs,
    async post(
      headers: Record<string, string> = { 'Idempotency-Key': key },
      body: unknown = { cents: 100 },
    ): Promise<Got> {
      const response = await fetch(`http://127.0.0.1:${port}/orders`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
  }
}

/** Such an API whose first request is under way until it is let go. */
export async function busyApi(profile: Name) {
  const begun = gate()
  const go = gate()
  const made = await api(profile, {}, async (runs) => {
    begun.open()
    await go.opened
    return json(201, { id: runs })
  })
  const first = made.post()
  await begun.opened
  return {
    ...made,
    async letGo() {
      go.open()
      return first
    },
  }
}

export function json(status: number, value: unknown): Answer {
  return { status, headers: [['Content-Type', 'application/json']], body: Buffer.from(JSON.stringify(value)) }
}
