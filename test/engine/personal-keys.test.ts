import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { looksGuessable } from '../../src/kernel/guessable.js'
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

test.each([
  '1',
  'test',
  'null',
  'undefined',
  '1700000000000',
  'aaaaaaaaaaaaaaaaaaaaaaaa',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  '11111111-1111-4111-8111-111111111111',
  '00000000000000000000000000',
])('%s looks as if it could be guessed', (key) => {
  expect(looksGuessable(key)).toBe(true)
})

test.each([
  '8e03978e-40d5-43dd-bc93-6894a57f9324',
  '017F22E2-79B0-7CC3-98C4-DC0C0C07398F',
  '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  'A8Z5MHwQS7jUmZ',
  'order-2026-11-15-0001',
])('%s does not look so', (key) => {
  expect(looksGuessable(key)).toBe(false)
})

test('of many keys that were made at random none looks as if it could be guessed', () => {
  for (let time = 0; time < 10_000; time++) expect(looksGuessable(randomUUID())).toBe(false)
})

test('a key that anybody could hit upon is told of once, when it is new', async () => {
  const { hapax, policy } = bench()
  const told: unknown[] = []
  hapax.on('key_looks_guessable', (event) => told.push(event))
  const run = (key: string) => hapax.run({ scope: 'acme', key, policy: policy() }, async () => 'ran')
  await run('00000000-0000-0000-0000-000000000000')
  await run('00000000-0000-0000-0000-000000000000')
  await run('8e03978e-40d5-43dd-bc93-6894a57f9324')
  expect(told).toEqual([{ scope: 'acme', operation: 'payments.create', record: expect.stringMatching(/^[0-9a-f]+$/) }])
})
