import { engine, type RouteOptions } from 'hapax'
import * as byExpress from 'hapax/express'
import * as byFastify from 'hapax/fastify'
import * as byFetch from 'hapax/fetch'
import * as byNode from 'hapax/node'
import { type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { expectTypeOf, test } from 'vitest'

const hapax = engine({ store: sqliteStore({ path: 'x.db' }) })
const options = { name: 'payments.create', scope: () => 'acme' }

test('a handler holds the transaction of its store, whatever framework calls it', () => {
  byFastify.guard(hapax, options, {
    handler: ({ work }) => work.commit(async ({ tx }) => expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>()),
  })
  byExpress.guard(hapax, options, ({ work }) =>
    work.commit(async ({ tx }) => expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>()),
  )
  byFetch.guard(hapax, options, (_request, work) =>
    work.commit(async ({ tx }) => {
      expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>()
      return new Response()
    }),
  )
  byNode.guard(hapax, options, (_request, { work }) =>
    work.commit(async ({ tx }) => {
      expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>()
      return { status: 204, headers: [], body: new Uint8Array() }
    }),
  )
})

test('there is no route without a scope', () => {
  expectTypeOf<{ name: string }>().not.toExtend<RouteOptions<unknown>>()
  // @ts-expect-error: whose key it is has to be said.
  byFetch.guard(hapax, { name: 'payments.create' }, async () => new Response())
})

test('every adapter guards routes and tells how a key stands', () => {
  for (const adapter of [byExpress, byFastify, byFetch, byNode]) {
    expectTypeOf(adapter).toHaveProperty('guard')
    expectTypeOf(adapter).toHaveProperty('keyStatus')
  }
})
