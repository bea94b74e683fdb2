import { randomUUID } from 'node:crypto'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ledger, refusedProviders, startProviders, tell } from './providers-process.js'
import { emptyDirectory } from './sandbox-process.js'

const ride = { amountCents: 2000, currency: 'usd', reference: 'ride_1' }

test.concurrent('a charge is in the ledger with the amount that was sent, and a second one with its key is not', async () => {
  const card = await startProviders()
  const first = await tell(card, 'POST', '/card/charges', { key: 'k', body: ride })
  const { reference, currency, amountCents } = ride
  const again = await tell(card, 'POST', '/card/charges', { key: 'k', body: { reference, currency, amountCents } })
  expect(first).toMatchObject({ status: 201, isReplay: false, json: { status: 'succeeded', key: 'k', ...ride } })
  expect(again).toEqual({ ...first, isReplay: true })
  expect(await ledger(card, '?provider=card')).toEqual([
    {
      id: 'card_1',
      provider: 'card',
      operation: 'charge',
      key: 'k',
      amount: 2000,
      currency: 'usd',
      object: first.json.id,
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      reference: 'ride_1',
    },
  ])
})

test.concurrent('of twenty charges at once with one key, one is made, and all get its answer', async () => {
  const card = await startProviders()
  const many = Array.from({ length: 20 }, () => tell(card, 'POST', '/card/charges', { key: 'k', body: ride }))
  const answers = await Promise.all(many)
  expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1)
  expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1)
  expect(await ledger(card)).toHaveLength(1)
})

test.concurrent('a key belongs to its first request: another body or another path is refused', async () => {
  const card = await startProviders()
  const { json } = await tell(card, 'POST', '/card/charges', { key: 'k', body: ride })
  const other = await tell(card, 'POST', '/card/charges', { key: 'k', body: { ...ride, amountCents: 2001 } })
  const refund = await tell(card, 'POST', `/card/charges/${json.id}/refund`, { key: 'k', body: {} })
  expect([other, refund].map(({ status, json: { error } }) => [status, error.code])).toEqual([
    [422, 'key_reused'],
    [422, 'key_reused'],
  ])
  expect(await ledger(card)).toHaveLength(1)
})

test.concurrent('who does not honour keys acts as often as he is asked, and can be told to honour them, or not to', async () => {
  const providers = await startProviders()
  const message = { to: 'usr_1', text: 'Your ride is here.' }
  for (const _ of [1, 2]) await tell(providers, 'POST', '/notifier/messages', { key: 'k', body: message })
  expect(await ledger(providers, '?provider=notifier')).toHaveLength(2)
  await tell(providers, 'PUT', '/_providers/settings', { body: { provider: 'card', honoursKeys: false } })
  for (const _ of [1, 2]) await tell(providers, 'POST', '/card/charges', { key: 'k', body: ride })
  expect(await ledger(providers, '?provider=card&key=k')).toHaveLength(2)
  await tell(providers, 'PUT', '/_providers/settings', { body: { provider: 'card', honoursKeys: true } })
  expect((await tell(providers, 'POST', '/card/charges', { key: 'k', body: ride })).isReplay).toBe(true)
})

test.concurrent('what was done under a key is found, what was not is not', async () => {
  const card = await startProviders()
  const { json } = await tell(card, 'POST', '/card/charges', { key: 'k', body: ride })
  await tell(card, 'POST', `/card/charges/${json.id}/refund`, { key: 'back', body: {} })
  const refunded = { ...json, status: 'refunded' }
  expect((await tell(card, 'GET', '/card/calls?key=k')).json).toMatchObject({
    found: true,
    operation: 'charge',
    status: 201,
    answer: json,
    object: { id: json.id, status: 'refunded' },
  })
  expect((await tell(card, 'GET', '/card/calls?key=back')).json).toMatchObject({ found: true, operation: 'refund' })
  expect((await tell(card, 'GET', '/card/calls?key=nobody')).json).toEqual({ found: false })
  const { charges } = (await tell(card, 'GET', '/card/charges?key=k')).json
  expect(charges).toMatchObject([{ id: json.id, status: refunded.status }])
  expect((await tell(card, 'GET', '/card/charges?key=nobody')).json).toEqual({ charges: [] })
})

test.concurrent('an escrow goes its way once: what does not fit its state is refused, and nothing is done', async () => {
  const tw = await startProviders()
  const escrow = { amount: '100.00', currency: 'USD', confirm: 'now' }
  const { json } = await tell(tw, 'POST', '/trustless-work/escrows', { key: randomUUID(), body: escrow })
  const move = async (verb: string, body = {}) => {
    const told = await tell(tw, 'POST', `/trustless-work/escrows/${json.id}/${verb}`, { key: randomUUID(), body })
    return [told.status, told.json.status ?? told.json.error]
  }
  expect(await move('release')).toEqual([409, expect.objectContaining({ code: 'wrong_state', status: 'created' })])
  expect(await move('fund', { confirm: 'manual' })).toEqual([200, 'funding'])
  expect(await move('fund')).toEqual([409, expect.objectContaining({ status: 'funding' })])
  expect(await move('confirm')).toEqual([200, 'funded'])
  expect(await move('confirm')).toEqual([200, 'funded'])
  expect(await move('dispute')).toEqual([200, 'disputed'])
  expect(await move('resolve', { decision: 'perhaps' })).toEqual([
    400,
    expect.objectContaining({ code: 'body_invalid' }),
  ])
  expect(await move('resolve', { decision: 'release' })).toEqual([200, 'released'])
  expect(await move('refund')).toEqual([409, expect.objectContaining({ status: 'released' })])
  const operations = (await ledger(tw)).map(({ operation, amount }) => [operation, amount])
  expect(operations).toEqual(['create', 'fund', 'dispute', 'resolve'].map((operation) => [operation, '100.00']))
})

test.concurrent('what makes no sense is refused with a code, and leaves no entry', async () => {
  const providers = await startProviders()
  const refused = async (path: string, body: unknown, key?: string) => {
    const { status, json } = await tell(providers, 'POST', path, { body, ...(key !== undefined && { key }) })
    return `${status} ${json.error.code}`
  }
  for (const amountCents of [0, -1, 1.5, '-1.00', '1e3', '', '0.00', true, null, [1]])
    expect(await refused('/card/charges', { amountCents, currency: 'usd' })).toBe('400 body_invalid')
  expect(await refused('/card/charges', { amountCents: 1 })).toBe('400 body_invalid')
  expect(await refused('/card/charges', [])).toBe('400 body_invalid')
  expect(await refused('/card/charges', { ...ride, confirm: 'manual' })).toBe('400 body_invalid')
  expect(await refused('/card/charges', { ...ride, text: 'x'.repeat(70_000) })).toBe('413 body_too_large')
  expect(await refused('/card/charges', ride, 'x'.repeat(256))).toBe('400 key_invalid')
  const withdrawal = { amount: '1.00', currency: 'usd', customer: 'cus_1' }
  expect(await refused('/bank/withdrawals', withdrawal, 'x'.repeat(41))).toBe('400 key_invalid')
  expect(await refused('/airtm/payouts', { amount: '1.00', currency: 'usd' })).toBe('400 body_invalid')
  expect(await refused('/airtm/holds/hold_none/release', {})).toBe('404 not_found')
  expect(await refused('/paypal/charges', ride)).toBe('404 not_found')
  expect(await refused('/card/charges/x/y/z', ride)).toBe('404 not_found')
  expect(await ledger(providers)).toEqual([])
})

test.concurrent('a last line that was cut off is dropped, and a ledger that is damaged elsewhere is refused', async () => {
  const first = await startProviders()
  const { json } = await tell(first, 'POST', '/card/charges', { key: 'k', body: ride })
  expect(await first.stop('SIGTERM')).toBe(0)
  const file = join(first.dataDir, 'card.jsonl')
  await appendFile(file, '{"kind":"effect","entry":{"id":"card_2",')

  const second = await startProviders(first.dataDir)
  expect(await ledger(second)).toMatchObject([{ object: json.id }])
  expect((await tell(second, 'POST', '/card/charges', { key: 'k', body: ride })).json).toEqual(json)
  await tell(second, 'POST', '/card/charges', { key: 'l', body: ride })
  await second.stop('SIGKILL')
  expect(await ledger(await startProviders(first.dataDir))).toMatchObject([{ key: 'k' }, { key: 'l' }])

  const dataDir = await emptyDirectory()
  await writeFile(join(dataDir, 'card.jsonl'), `garbage\n${await readFile(file, 'utf8')}`)
  expect(await refusedProviders(dataDir)).toEqual({
    code: 1,
    said: expect.stringMatching(/card\.jsonl is damaged in line 1/),
  })
})

test.concurrent('one directory is served by one process: another one names it and ends', async () => {
  const { dataDir, url, pid, stop } = await startProviders()
  expect(await refusedProviders(dataDir)).toEqual({ code: 3, said: JSON.stringify({ running: { url, pid } }) })
  await stop('SIGKILL')
  expect((await startProviders(dataDir)).pid).not.toBe(pid)
})
