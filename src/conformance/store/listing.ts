import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import type { StoredRecord } from '../../engine/record.js'
import { scopeOf } from '../../engine/scope.js'
import type { ListQuery } from '../../engine/store.js'
import { same } from '../expect.js'
import { answer, claimed, completed, completion, doubted, failed, keys, retentionMs } from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** Reading many records in pages while others write. */
export const listing: Readonly<Record<string, Show>> = {
  'an empty store lists nothing': async ({ store }) => {
    same(await store.list({ limit: 10 }), { records: [], next: undefined })
  },

  'following the pages shows every record once, as `find` shows it': async ({ store }) => {
    for (const key of keys(10)) await completed(store, { key })
    const pages = await pagesOf(store, { limit: 4 })
    same(
      pages.map(({ length }) => length),
      [4, 4, 2],
    )
    same(namesOf(pages.flat()), [...keys(10)].sort())
    for (const record of pages.flat()) same(record, await store.find(record))
  },

  'a page that ends with the last record is the last page': async ({ store }) => {
    for (const key of keys(4)) await claimed(store, { key })
    assert.equal((await store.list({ limit: 4 })).next, undefined)
    same(
      (await pagesOf(store, { limit: 2 })).map(({ length }) => length),
      [2, 2],
    )
  },

  'pages are stable while records are added, change state and go': async ({ store, open }) => {
    const other = await open()
    const claims = await Promise.all(keys(9).map((key) => claimed(store, { key })))
    const seen: StoredRecord[] = []
    for await (const page of walk(store, { limit: 2 })) {
      seen.push(...page)
      for (const claim of claims) await other.complete(claim, completion())
      await completed(other, { scope: scopeOf(`newcomer-${seen.length}`) })
      await other.release(await claimed(other, { scope: scopeOf('short-lived') }))
    }
    const known = seen.filter(({ scope }) => scope === scopeOf('acme'))
    same(namesOf(known), [...keys(9)].sort())
    assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
  },

  'a list of one scope shows no other': async ({ store }) => {
    for (const scope of ['acme', 'acme-2', 'globex']) {
      for (const key of keys(3)) await claimed(store, { key, scope: scopeOf(scope) })
    }
    const listed = (await pagesOf(store, { scope: scopeOf('acme'), limit: 2 })).flat()
    same(
      listed.map(({ scope }) => scope),
      [scopeOf('acme'), scopeOf('acme'), scopeOf('acme')],
    )
  },

  'a list of one state shows no other': async ({ store }) => {
    const [, ...rest] = keys(9)
    for (const [index, key] of rest.entries()) await [completed, failed, doubted, claimed][index % 4]?.(store, { key })
    for (const state of ['completed', 'failed_retryable', 'unknown', 'in_progress'] as const) {
      const listed = (await pagesOf(store, { state, limit: 1 })).flat()
      same(
        listed.map((record) => record.state),
        [state, state],
      )
    }
    same((await pagesOf(store, { state: 'expired', limit: 1 })).flat(), [])
  },

  'a list of one scope and one state shows only what is both': async ({ store }) => {
    const [first, second, third] = ['acme', 'globex'].flatMap((tenant) =>
      keys(2).map((key) => ({ key, scope: scopeOf(tenant) })),
    )
    await doubted(store, first)
    await completed(store, second)
    await doubted(store, third)
    const listed = (await pagesOf(store, { scope: scopeOf('acme'), state: 'unknown', limit: 1 })).flat()
    same(namesOf(listed), [first?.key])
  },

  'a list of a tenant shows all of its scopes, those of each together, and nobody else': async ({ store }) => {
    const scopes = ['acme', { tenant: 'acme', principal: 'ann' }, { tenant: 'acme', principal: 'bob' }, 'acme-2', 'acm']
    for (const key of keys(2)) for (const scope of scopes) await claimed(store, { key, scope: scopeOf(scope) })
    const listed = (await pagesOf(store, { tenant: 'acme', limit: 1 })).flat()
    same(
      listed.map(({ scope, key }) => `${scope} ${key}`),
      ['acme', 'acme;principal=ann', 'acme;principal=bob'].flatMap((scope) => keys(2).map((key) => `${scope} ${key}`)),
    )
  },

  'a key is found in whatever scope it is, in whatever state, by all of it or by how it begins': async ({ store }) => {
    const given = { completed, failed, doubted, claimed }
    for (const [name, made] of Object.entries(given))
      for (const end of ['1', '2']) await made(store, { key: keyOf(`order-${name}-${end}`), scope: scopeOf(name) })
    for (const name of Object.keys(given)) {
      const is = (await pagesOf(store, { key: { is: `order-${name}-2` }, limit: 1 })).flat()
      same(namesOf(is), [`order-${name}-2`])
      const alike = (await pagesOf(store, { key: { startsWith: `order-${name}` }, limit: 1 })).flat()
      same(namesOf(alike), [`order-${name}-1`, `order-${name}-2`])
    }
    const inScope = { scope: scopeOf('doubted'), key: { is: 'order-doubted-1' }, limit: 5 }
    same(namesOf((await store.list(inScope)).records), ['order-doubted-1'])
    same((await store.list({ ...inScope, scope: scopeOf('failed') })).records, [])
    const all = (await pagesOf(store, { key: { startsWith: 'order-' }, limit: 3 })).flat()
    same(
      all.map(({ key }) => key),
      all.map(({ key }) => key).sort(),
    )
    same(all.length, 8)
    same((await store.list({ key: { startsWith: 'order%' }, limit: 5 })).records, [])
  },

  'where a page of keys ends does not tell a key, and a list whose place is gone begins anew': async ({ store }) => {
    const [first, second] = [keyOf('secret-1'), keyOf('secret-2')]
    await completed(store, { key: first })
    await completed(store, { key: second })
    for (const order of ['oldest', 'newest'] as const) {
      const query = { key: { startsWith: 'secret-' }, order, limit: 1 } as const
      const { next = '' } = await store.list(query)
      assert.ok(!`${next} ${Buffer.from(next, 'base64url')}`.includes('secret'), next)
      const gone = await store.list({ ...query, limit: 2, after: '999999' })
      same(gone.records.length, 2)
    }
  },

  'tenants are listed once each, however many scopes they have, page by page': async ({ store }) => {
    const scopes = [
      'acme',
      { tenant: 'acme', principal: 'ann' },
      'acme-2',
      { tenant: 'globex', principal: 'bob' },
      'zeta',
    ]
    for (const scope of [...scopes, { tenant: 'globex', principal: 'ann' }])
      await claimed(store, { key: keyOf('k'), scope: scopeOf(scope) })
    for (const limit of [1, 2, 10]) {
      const seen: string[] = []
      let after: string | undefined
      do {
        const page = await store.tenants({ limit, ...(after !== undefined && { after }) })
        assert.ok(page.tenants.length <= limit)
        seen.push(...page.tenants)
        after = page.next
      } while (after !== undefined)
      same([...seen].sort(), ['acme', 'acme-2', 'globex', 'zeta'])
    }
  },

  'the newest come first where that is asked for, page by page': async ({ store }) => {
    for (const key of keys(5)) await doubted(store, { key })
    for (const query of [{}, { scope: scopeOf('acme') }, { tenant: 'acme' }, { state: 'unknown' as const }]) {
      const listed = (await pagesOf(store, { ...query, order: 'newest', limit: 2 })).flat()
      same(
        listed.map(({ key }) => key),
        [...keys(5)].reverse(),
      )
    }
  },

  'what was begun in a time is found by it, also a key that was used anew': async ({ store, at, startedAt }) => {
    const [old, first, second, late] = [keyOf('key-0'), keyOf('key-1'), keyOf('key-2'), keyOf('key-3')] as const
    await completed(store, { key: old })
    await at(3_600_000)
    await completed(store, { key: first })
    await completed(store, { key: second })
    await at(7_200_000)
    await completed(store, { key: late })
    const within = (from: number, to: number) => ({ since: startedAt + from, until: startedAt + to, limit: 10 })
    same(namesOf((await store.list(within(3_600_000, 7_200_000))).records), [first, second])
    same(namesOf((await store.list({ ...within(0, 7_200_001), scope: scopeOf('acme') })).records), [...keys(4)].sort())
    same((await store.list(within(7_200_001, 9_000_000))).records, [])
    await at(retentionMs)
    await completed(store, { key: old })
    const anew = { since: startedAt + retentionMs, limit: 10 }
    same(namesOf((await store.list(anew)).records), [old])
    same(namesOf((await store.list({ ...anew, tenant: 'acme' })).records), [old])
    same(namesOf((await store.list({ ...within(0, 7_200_001), tenant: 'acme' })).records), [first, second, late])
  },

  'records are found by operation, by the status of their answer, and by where it leads': async ({ store }) => {
    const [first, second, third] = [keyOf('1'), keyOf('2'), keyOf('3')] as const
    await completed(store, { key: first })
    const declined = await claimed(store, { key: second, operation: 'charges.create' })
    await store.complete(declined, { answer: answer('{}', { status: 402 }), answerVersion: 1 })
    const made = await claimed(store, { key: third })
    const headers = [
      ['content-type', 'application/json'],
      ['Location', '/payments/7'],
    ] as const
    await store.complete(made, { answer: answer('{}', { headers }), answerVersion: 1 })
    same(namesOf((await store.list({ operation: 'charges.create', limit: 5 })).records), [second])
    same(namesOf((await store.list({ status: 402, limit: 5 })).records), [second])
    same(namesOf((await store.list({ resource: '/payments/7', limit: 5 })).records), [third])
    same((await store.list({ resource: '/payments/', limit: 5 })).records, [])
    same((await store.list({ tenant: 'acme', status: 201, state: 'completed', limit: 1 })).records.length, 1)
  },
}

async function pagesOf(store: AnyStore, query: ListQuery): Promise<readonly (readonly StoredRecord[])[]> {
  const pages = []
  for await (const page of walk(store, query)) pages.push(page)
  return pages
}

async function* walk(store: AnyStore, query: ListQuery): AsyncGenerator<readonly StoredRecord[]> {
  let after: string | undefined
  do {
    const page = await store.list(after === undefined ? query : { ...query, after })
    assert.ok(page.records.length <= query.limit)
    if (page.records.length > 0) yield page.records
    after = page.next
  } while (after !== undefined)
}

function namesOf(records: readonly StoredRecord[]): readonly string[] {
  return records.map(({ key }) => key).sort()
}
