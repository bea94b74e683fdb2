import type { EffectStore, StoredEffect } from '../../../engine/effect-store.js'
import { boundedLimit } from '../../../engine/limit.js'
import { HapaxError } from '../../../kernel/errors.js'
import { limits } from '../../../kernel/limits.js'
import type { SqlValue } from '../../sql/row.js'
import { arrayOf } from '../array.js'
import type { Connections, Query, Row } from '../connections.js'
import { type Execute, everyScope, type RowSecurity, sessionExecutor } from '../executor.js'
import { inOneCommit } from '../in-one-commit.js'
import { effectListing } from './effect-listing.js'
import type { EffectQueries } from './effect-queries.js'
import { claimedOf, effectOf, orderingOf } from './effect-row.js'
import type { SettleQueries } from './settle-queries.js'
import { namedIn, ofClaims, ofDone, ofResult, ofSettlements, writtenBut } from './settlements.js'
import type { TurnQueries } from './turn-queries.js'
import { turns } from './turns.js'

interface Surroundings<Tx> {
  readonly schema: string
  readonly queries: EffectQueries & SettleQueries & TurnQueries
  readonly execute: Execute
  readonly rowSecurity: RowSecurity
  /** Where the application writes what follows from an effect. */
  readonly phases: Pick<Connections<Tx>, 'transaction'>
  /** Looks what became of a COMMIT. */
  readonly readBack: Pick<Connections<unknown>, 'transaction'>
}

type ClaimQuery = Parameters<EffectStore<never>['claim']>[0]

/** The outbox. Its workers serve every scope, so that every statement is about all of them. */
export function postgresEffects<Tx>(surroundings: Surroundings<Tx>): EffectStore<Tx> {
  const { schema, queries, execute, rowSecurity, phases, readBack } = surroundings
  const ask = (query: Query, ...values: readonly SqlValue[]) => execute(everyScope, query, values)
  const changed = async (query: Query, ...values: readonly SqlValue[]) => (await ask(query, ...values)).length > 0
  const among = (kinds: readonly string[]) => arrayOf(kinds)

  const order = turns<string>({
    tell: (orders) => ask(queries.tell, orders),
    async look(after, most) {
      const [row] = await ask(queries.look, after, most)
      return { told: Number(row?.told), next: row?.next ?? undefined }
    },
  })

  async function claimed({ kinds, ids, limit, leaseMs }: ClaimQuery): Promise<readonly StoredEffect[]> {
    const asked = [among(kinds), limit, leaseMs] as const
    const rows = await (ids === undefined
      ? ask(queries.claim, ...asked)
      : ask(queries.claimNamed, ...asked, arrayOf(ids)))
    return rows.map(claimedOf).toSorted((a, b) => a.dueAt - b.dueAt || a.id - b.id)
  }

  return {
    async claim(query) {
      const limit = boundedLimit(query.limit, limits.batch)
      if (query.ids !== undefined) return claimed({ ...query, limit })
      return order.claimed(limit, (limit) => claimed({ ...query, limit }))
    },
    begin: ({ id, fence }, leaseMs) => changed(queries.begin, id, fence, leaseMs),
    async renew(claims, leaseMs) {
      if (claims.length === 0) return []
      return namedIn(await ask(queries.renew, ...ofClaims(claims), leaseMs), claims)
    },
    record: ({ id, fence }, result) => changed(queries.record, id, fence, ...ofResult(result)),
    async settle(settlements) {
      if (settlements.length === 0) return []
      const done = ofDone(settlements)
      const [row] = await (done === undefined
        ? ask(queries.settle, ...ofSettlements(settlements))
        : ask(queries.settleDone, ...done))
      await order.tell(ordersIn(row))
      return writtenBut(row, settlements.length)
    },

    async apply({ id, fence }, result, body) {
      const orders = await inOneCommit(phases, async ({ query, said }) => {
        await said(body)
        const settle = await sessionExecutor(query, rowSecurity, everyScope)
        const [finished] = await settle(everyScope, queries.finish, [id, fence, ...ofResult(result)])
        if (finished === undefined) throw new HapaxError('claim_lost')
        const isCommitted = () =>
          readBack.transaction(async ({ query }) => {
            const look = await sessionExecutor(query, rowSecurity, everyScope)
            const [row] = await look(everyScope, queries.isDone, [id, fence])
            return row?.is_done === 't'
          })
        return { value: ordersIn(finished), isCommitted }
      })
      await order.tell(orders)
    },

    async sweep(limit) {
      const swept = effectsIn(await ask(queries.sweep, boundedLimit(limit, limits.batch)))
      await order.look()
      return swept
    },
    doubts: async ({ kinds, limit, holdMs }) =>
      effectsIn(await ask(queries.doubts, boundedLimit(limit, limits.batch), among(kinds), holdMs)),
    postpone: ({ id, fence }, { looks, afterMs, dueAt }) =>
      changed(queries.postpone, id, fence, looks, afterMs ?? null, dueAt ?? null),
    resolve: ({ id, fence }, evidence) =>
      changed(queries.resolve, id, fence, ...(evidence.kind === 'landed' ? ofResult(evidence) : [null, null])),

    find: async (id) => effectsIn(await ask(queries.find, id))[0],
    findByKey: async (key) => effectsIn(await ask(queries.findByKey, key))[0],
    async list({ limit, ...query }) {
      const listing = effectListing(schema, query, boundedLimit(limit, limits.page))
      return listing.page(await ask(listing, ...listing.values))
    },
    async done({ since, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const [at, id] = after?.split(' ') ?? [since, 0]
      const found = effectsIn(await ask(queries.done, at ?? since, id ?? 0, size + 1))
      const effects = found.slice(0, size)
      const last = effects.at(-1)
      return { effects, next: found.length > size ? `${last?.finishedAt} ${last?.id}` : undefined }
    },
    named: async (keys) => effectsIn(await ask(queries.named, arrayOf(keys))),
    redrive: async (ids, keyMemory) =>
      effectsIn(await ask(keyMemory === 'anew' ? queries.redriveAnew : queries.redrive, arrayOf(ids))),
    async discard(ids) {
      const discarded = effectsIn(await ask(queries.discard, arrayOf(ids)))
      await order.tell(ordersOf(discarded))
      return discarded
    },
    reap: async (limit, keepMs) => (await ask(queries.reap, boundedLimit(limit, limits.batch), keepMs)).length,
  }
}

/** Those in which one has become final, as PostgreSQL spells a list of them. */
function ordersIn(row: Row | undefined): string | undefined {
  return row?.orders === '{}' ? undefined : (row?.orders ?? undefined)
}

function ordersOf(effects: readonly StoredEffect[]): string | undefined {
  const orders = effects.flatMap(orderingOf)
  return orders.length === 0 ? undefined : arrayOf(orders)
}

function effectsIn(rows: readonly Row[]): readonly StoredEffect[] {
  return rows.map(effectOf)
}
