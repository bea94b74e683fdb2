import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EffectCall, effects, engine, workOnce } from 'hapax'
import { adminApi, everything, type Operator } from 'hapax/admin'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'

/** Doubts about effects, settled through the API: by evidence, once, in one's own tenants. */

async function site() {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-admin-effects-'))
  const silent = {
    call: (_: EffectCall<number>): number => {
      throw new Error('no answer came')
    },
    timeout: '1ms',
  } as const
  const hapax = engine({
    store: sqliteStore({ path: join(folder, 'a.db') }),
    effects: effects({ 'refund.make': silent, 'payout.make': { ...silent, apply: () => {} } }),
    log: () => {},
  })
  let operator: Operator = { who: 'ann', may: everything }
  const api = adminApi({ hapax, authorize: () => operator })
  onTestFinished(async () => {
    api.close()
    await hapax.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const policy = hapax.policy({ name: 'payments.create' })
  for (const scope of ['acme', 'globex'])
    await hapax.run({ scope, key: 'k', policy }, (work) =>
      work.commit(({ effect }) => {
        effect('refund.make', 1)
        effect('payout.make', 2)
        return true
      }),
    )
  await workOnce({ hapax })
  const ask = async (path: string, body?: object, key: string = crypto.randomUUID()) => {
    const write = { method: 'POST', body: JSON.stringify(body) }
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const response = await api(new Request(`http://admin${path}`, body && { ...write, headers }))
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  const word = { says: 'landed', evidence: 'in the books', reason: 'the customer asks' }
  return {
    ask,
    settle: (id: number, more: object = {}, key?: string) => ask('/effects/settle', { id, ...word, ...more }, key),
    as: (who: Operator) => {
      operator = who
    },
  }
}

test('a doubt about an effect is found, explained, settled once however often it is sent, and written down', async () => {
  const { ask, settle } = await site()
  expect((await ask('/effects?state=unknown')).json.items).toMatchObject([
    { id: 1, kind: 'refund.make', scope: 'acme', state: 'unknown' },
    { id: 2 },
    { id: 3 },
    { id: 4 },
  ])
  const story = (await ask('/effects/story?id=1')).json
  expect((story.sentences as string[]).join(' ')).toMatch(/Nobody knows since .* whether it took place: .* settle it/)

  const settled = await settle(1, {}, 'once')
  expect(settled).toMatchObject({
    status: 200,
    json: { effect: { state: 'ready' }, audit: [{ sequence: 1, action: 'settle', subject: 'effect:1', who: 'ann' }] },
  })
  expect((await settle(1, {}, 'once')).json).toEqual(settled.json)
  expect(await settle(1)).toMatchObject({ status: 409, json: { code: 'not_in_doubt' } })
  expect(await settle(99)).toMatchObject({ status: 404, json: { code: 'absent' } })
  expect(await settle(2)).toMatchObject({ status: 422, json: { code: 'result_missing' } })
  expect(await settle(2, { says: 'completed' })).toMatchObject({ status: 400 })
  expect(await settle(2, { reason: '' })).toMatchObject({ status: 400 })
  expect((await ask('/audit')).json.items).toHaveLength(1)
  expect((await ask('/records/story?scope=acme&key=k')).json.operator_actions).toMatchObject([{ subject: 'effect:1' }])
  expect((await ask('/stats')).json).toMatchObject({ effects: { unknown: { count: 3 }, waiting: 1 } })
})

test("another tenant's effects are not there for who may not look, settle, redrive or discard", async () => {
  const { ask, settle, as } = await site()
  const may = { read: ['acme'], settle: ['acme'], redrive: ['acme'], discard: ['acme'] }
  as({ who: 'bob', may })
  expect(await settle(3)).toMatchObject({ status: 404, json: { code: 'absent' } })
  expect(await ask('/effects/story?id=3')).toMatchObject({ status: 404 })
  expect(await ask('/effects?state=unknown')).toMatchObject({ status: 403 })
  expect(await ask('/stats')).toMatchObject({ status: 403 })
  for (const path of ['redrive', 'discard'])
    expect((await ask(`/dead-letters/${path}`, { ids: [3, 99], reason: 'a test' })).json).toEqual({
      effects: [],
      not_dead: [3, 99],
    })
  expect((await ask('/dead-letters/preview', { ids: [3] })).json).toEqual({ effects: [], not_dead: [3] })
  expect(await settle(1)).toMatchObject({ status: 200 })
  as({ who: 'bob', may: { ...may, settle: [] } })
  expect(await settle(2)).toMatchObject({ status: 403 })
})
