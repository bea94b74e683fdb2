import { expect, vi } from 'vitest'
import { type Answer, type PaymentTry, pay } from './payment-client.js'
import type { Api } from './sandbox-process.js'

/** What several test files expect of the sandbox. */

/** Retries until the lease of the attempt before is over. */
export function onceCreated(sandbox: Api, key: string, payment: PaymentTry = {}): Promise<Answer> {
  const retry = async () => {
    const answer = await pay(sandbox, { ...payment, key })
    expect(answer.status).toBe(201)
    return answer
  }
  return vi.waitFor(retry, { timeout: 5_000, interval: 100 })
}

export function expectUnavailable(answer: Answer | undefined): void {
  expect(answer).toMatchObject({ status: 503, json: { status: 503, retry_after: 1 } })
  expect(answer?.headers.get('content-type')).toBe('application/problem+json')
  expect(answer?.headers.get('retry-after')).toBe('1')
}

/** One line on stderr that says why and what to do, nothing on stdout, and exit code 1. */
export function refusal(reason: string) {
  return { code: 1, stdout: '', stderr: expect.stringMatching(new RegExp(`^cannot start: [^\n]*${reason}[^\n]*\n$`)) }
}
