import { expect, test } from 'vitest'
import { personalShape } from '../../src/kernel/personal.js'
import { bench } from '../support/bench.js'

test.each([
  ['ada@example.com', 'email'],
  ['order-7-ada.l+shop@mail.example.co', 'email'],
  ['+14155552671', 'phone'],
  ['+49 30 901820-0', 'phone'],
  ['(415) 555-26711', 'phone'],
  ['4242424242424242', 'card'],
  ['4242 4242 4242 4242', 'card'],
  ['378282246310005', 'card'],
  ['078-05-1120', 'social_security_number'],
])('%s looks like personal data: %s', (key, shape) => {
  expect(personalShape(key)).toBe(shape)
})

test.each([
  '8e03978e-40d5-43dd-bc93-6894a57f9324',
  '12345678-1234-4234-8234-123456789012',
  '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  'A8Z5MHwQS7jUmZ',
  'order-2026-11-15-0001',
  '4242424242424241',
  '123456789012',
  'user@',
])('%s does not', (key) => {
  expect(personalShape(key)).toBeUndefined()
})

test('a key that looks personal is told of once, when it is new, and never by its text', async () => {
  const { hapax, policy } = bench()
  const told: unknown[] = []
  hapax.on('key_looks_personal', (event) => told.push(event))
  const run = (key: string) => hapax.run({ scope: 'acme', key, policy: policy() }, async () => 'ran')
  await run('ada@example.com')
  await run('ada@example.com')
  await run('8e03978e-40d5-43dd-bc93-6894a57f9324')
  expect(told).toEqual([
    { scope: 'acme', operation: 'payments.create', record: expect.stringMatching(/^[0-9a-f]+$/), shape: 'email' },
  ])
  expect(JSON.stringify(told)).not.toContain('ada')
})
