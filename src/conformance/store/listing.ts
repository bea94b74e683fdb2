import assert from 'node:assert/strict'
import type { StoredRecord } from '../../engine/record.js'
import { scopeOf } from '../../engine/scope.js'
import type { ListQuery } from '../../engine/store.js'
import { same } from '../expect.js'
import { claimed, completed, completion, doubted, failed, keys } from '../given.js'
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
