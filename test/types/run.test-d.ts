import { type Accepted, type CallOptions, type Done, engine, type State, type Verdict } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { postgresStore } from 'hapax/postgres'
import { type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import pg from 'pg'
import postgres from 'postgres'
import { expectTypeOf, test } from 'vitest'

const hapax = engine({ store: memoryStore() })
const request = { scope: 'acme', key: 'k', input: 1 }

test('a run gives its value, and may be accepted only where its policy accepts', () => {
  const rejecting = hapax.policy({ name: 'a' })
  const accepting = hapax.policy({ name: 'b', concurrency: 'accept' })
  expectTypeOf(hapax.run({ ...request, policy: rejecting }, async () => 5)).resolves.toEqualTypeOf<Done<number>>()
  expectTypeOf(hapax.run({ ...request, policy: accepting }, async () => 5)).resolves.toEqualTypeOf<
    Done<number> | Accepted
  >()
})

test('a value is typed as JSON leaves it', () => {
  type Json = string | number | boolean | null | Json[] | { [name: string]: Json }
  const policy = hapax.policy({ name: 'a' })
  const json = hapax.run({ ...request, policy }, async () => ({}) as Json)
  expectTypeOf(json).resolves.toHaveProperty('value').toEqualTypeOf<Json>()
  const dated = hapax.run({ ...request, policy }, async () => ({ at: new Date(), save: () => 1 }))
  expectTypeOf(dated).resolves.toHaveProperty('value').toEqualTypeOf<{ at: string }>()
})

test('the options of a call that are made apart give its result, as those that stand in place do', () => {
  interface Charge {
    readonly id: string
  }
  const charging = (): CallOptions<Charge> => ({ run: () => ({ id: 'ch_1' }) })
  hapax.operation('charges.create', { version: 1 }, async (work) => {
    expectTypeOf(work.call('charged', charging())).resolves.toEqualTypeOf<{ readonly id: string }>()
    const maybe: CallOptions<Charge, undefined, 'optional'> = { ...charging(), result: 'optional' }
    expectTypeOf(work.call('maybe', maybe)).resolves.toEqualTypeOf<{ readonly id: string } | undefined>()
  })
})

test('a scope is never optional', () => {
  // @ts-expect-error: no scope, no run
  void hapax.run({ key: 'k', policy: hapax.policy({ name: 'a' }) }, async () => 5)
})

test('a handler is given the transaction of its store', () => {
  const embedded = engine({ store: sqliteStore({ path: 'x.db' }) })
  void embedded.run({ ...request, policy: embedded.policy({ name: 'a' }) }, (work) =>
    work.commit(async ({ tx }) => {
      expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>()
      return 5
    }),
  )
})

test('verdicts and states are closed unions that a switch exhausts', () => {
  const say = (verdict: Verdict): string => {
    switch (verdict.kind) {
      case 'reserved':
      case 'resumed':
      case 'completed':
      case 'in_progress':
      case 'unknown':
      case 'mismatched':
      case 'expired':
      case 'incomparable':
      case 'new':
        return verdict.kind
    }
  }
  expectTypeOf(say).returns.toBeString()
  expectTypeOf<State>().toEqualTypeOf<'in_progress' | 'completed' | 'failed_retryable' | 'unknown' | 'expired'>()
})

test('a handler is given the transaction of its client library', () => {
  const byPg = engine({ store: postgresStore({ pool: new pg.Pool() }) })
  void byPg.run({ ...request, policy: byPg.policy({ name: 'a' }) }, (work) =>
    work.commit(async ({ tx }) => {
      expectTypeOf(tx).toEqualTypeOf<pg.PoolClient>()
      return 5
    }),
  )
  const byPostgresJs = engine({ store: postgresStore({ pool: postgres({ prepare: false }) }) })
  void byPostgresJs.run({ ...request, policy: byPostgresJs.policy({ name: 'a' }) }, (work) =>
    work.commit(async ({ tx }) => {
      expectTypeOf(tx).toEqualTypeOf<postgres.TransactionSql>()
      return 5
    }),
  )
  // @ts-expect-error: a single connection is no pool
  postgresStore({ pool: new pg.Client() })
})
