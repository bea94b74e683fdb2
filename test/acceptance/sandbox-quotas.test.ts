import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { globex, pay, tea } from '../sandbox/payment-client.js'
import { isReplay } from '../sandbox/sandbox-client.js'
import { onBothDatabases } from './support/black-box.js'

/** What one tenant may take up: who takes too much is turned away with new keys, and served with those that are known. */

onBothDatabases((start) => {
  test('a tenant that uses new keys too fast gets 429 and is told when to come back; its retries and others are served [S1-089]', async () => {
    const sandbox = await start({ env: { SANDBOX_NEW_KEYS_PER_SECOND: '3' } })
    const attempts = Array.from({ length: 20 }, () => ({ key: randomUUID(), body: tea() }))
    const answers = await Promise.all(attempts.map((attempt) => pay(sandbox, attempt)))
    const known = attempts.filter((_, index) => answers[index]?.status === 201)
    const turnedAway = answers.filter(({ status }) => status !== 201)
    expect(known.length).toBeGreaterThanOrEqual(3)
    expect(turnedAway.length).toBeGreaterThan(0)
    for (const { status, headers, json } of turnedAway) {
      expect([status, json.code]).toEqual([429, 'quota_exceeded'])
      expect(headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/)
    }
    for (const attempt of known) expect(isReplay(await pay(sandbox, attempt))).toBe(true)
    expect((await pay(sandbox, { body: tea(), tenant: globex })).status).toBe(201)
  })

  test('a tenant that holds as many keys as it may gets 429 for another; its retries and other tenants are served [S1-091]', async () => {
    const sandbox = await start({ env: { SANDBOX_ACTIVE_KEYS: '2' } })
    const held = [randomUUID(), randomUUID()].map((key) => ({ key, body: tea() }))
    for (const attempt of held) expect((await pay(sandbox, attempt)).status).toBe(201)
    // Each node counts by itself, and may let one in between two counts.
    const met: string[] = []
    for (let time = 0; time < 5; time++) met.push(await answerTo(pay(sandbox, { body: tea() })))
    expect(met.slice(-2)).toEqual(['429 quota_exceeded', '429 quota_exceeded'])
    for (const attempt of held) expect(isReplay(await pay(sandbox, attempt))).toBe(true)
    expect((await pay(sandbox, { body: tea(), tenant: globex })).status).toBe(201)
  })
})

async function answerTo(asked: ReturnType<typeof pay>): Promise<string> {
  const { status, json } = await asked
  return `${status} ${json.code}`
}
