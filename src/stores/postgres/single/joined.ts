import { HapaxError } from '../../../kernel/errors.js'
import type { SqlValue } from '../../sql/row.js'
import { named, type Query, type Session, type Undoable } from '../connections.js'
import { storeError } from '../faults.js'
import type { OpenCommit } from '../in-one-commit.js'
import type { PostgresJsTransaction } from '../postgres-js.js'
import { byNesting, bySavepoint, type Nesting } from '../undoable.js'

/**
 * Work in a transaction that the caller opened, and will end himself. All of it stands behind a savepoint, so that whatever
 * fails of ours leaves his transaction as it was.
 */
export async function inJoined<Tx, T>(given: unknown, run: (open: OpenCommit<Tx>) => Promise<T>): Promise<T> {
  let thrown: { readonly byBody: unknown } | undefined
  const { outer, inner } = joining<Tx>(given)
  try {
    return await outer(
      (tx) => {
        const { query, undoable } = inner(tx)
        const saidOn = async <S>(tx: Tx, body: (tx: Tx) => Promise<S>) => {
          try {
            return await body(tx)
          } catch (error) {
            thrown = { byBody: error }
            throw error
          }
        }
        return run({
          query,
          said: (body) => saidOn(tx, body),
          undoable: (body, isUndone) => undoable((tx) => saidOn(tx, body), isUndone),
        })
      },
      () => false,
    )
  } catch (error) {
    throw thrown !== undefined && thrown.byBody === error ? error : storeError(error)
  }
}

interface Joining<Tx> {
  readonly outer: Undoable<Tx>
  readonly inner: (tx: Tx) => { readonly query: Session<Tx>['query']; readonly undoable: Undoable<Tx> }
}

/** The one place that knows whose transaction it is: how it is spoken on, and how a part of it is undone. */
function joining<Tx>(given: unknown): Joining<Tx> {
  if (isPostgresJs(given)) {
    const inner = (tx: Tx) => ({
      query: postgresJsQuery(tx as PostgresJsTransaction),
      undoable: byNesting<Tx>(tx as Nesting),
    })
    return { outer: byNesting<Tx>(given), inner }
  }
  const query = spokenQuery(given)
  const tx = given as Tx
  const inner = () => ({ query, undoable: bySavepoint(tx, query, 'hapax_rows') })
  return { outer: bySavepoint(tx, query, 'hapax_single'), inner }
}

function isPostgresJs(given: unknown): given is PostgresJsTransaction & Nesting {
  const { unsafe, savepoint } = (given ?? {}) as { unsafe?: unknown; savepoint?: unknown }
  return typeof unsafe === 'function' && typeof savepoint === 'function'
}

function postgresJsQuery(sql: PostgresJsTransaction): Session<unknown>['query'] {
  return async (query, values) => {
    const rows = (await sql
      .unsafe(query.text, [...values] as never[], { prepare: false })
      .raw()) as (Uint8Array | null)[][]
    return rows.map((row) =>
      named(
        query,
        row.map((value) => value && Buffer.from(value).toString()),
      ),
    )
  }
}

/** A `pg` client. */
function spokenQuery(given: unknown): Session<unknown>['query'] {
  const client = given as { query?: (config: object) => Promise<{ readonly rows: (string | null)[][] }> }
  if (typeof client?.query !== 'function')
    throw new HapaxError(
      'store_unknown',
      'This is no transaction that is known here. Give a pg client, or the sql of postgres.js.',
    )
  return async (query: Query, values: readonly SqlValue[]) => {
    const { rows } = (await client.query?.({ text: query.text, values: [...values], ...raw })) ?? { rows: [] }
    return rows.map((row) => named(query, row))
  }
}

const raw = { rowMode: 'array', types: { getTypeParser: () => (value: string) => value } } as const
