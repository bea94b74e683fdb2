import { chained, type Happened, headAfter } from '../../../engine/audit-chain.js'
import type {
  Acted,
  Actor,
  AuditEntry,
  AuditHead,
  AuditStore,
  Deed,
  EffectDeed,
  LookDeed,
  ResolveDeed,
} from '../../../engine/audit-store.js'
import { enact, enactLook, enactResolve, happenedTo } from '../../../engine/deeds.js'
import type { EffectStore } from '../../../engine/effect-store.js'
import { boundedLimit } from '../../../engine/limit.js'
import { numberedPlace } from '../../../engine/page-place.js'
import { limits } from '../../../kernel/limits.js'
import { ofTestimonies, type TestimonyQueries } from '../calls/testimony-queries.js'
import type { Connections, Row } from '../connections.js'
import { type Execute, everyScope, type RowSecurity, sessionExecutor } from '../executor.js'
import { inOneCommit } from '../in-one-commit.js'
import type { Queries } from '../queries.js'
import { recordTable } from '../record-table.js'
import type { AuditQueries } from './audit-queries.js'

interface Surroundings {
  readonly queries: AuditQueries & Pick<TestimonyQueries, 'testify'>
  readonly records: Queries
  /** The outbox, on a transaction of ours. */
  readonly effects: (execute: Execute) => Outbox
  readonly execute: Execute
  readonly rowSecurity: RowSecurity
  readonly statementTimeoutMs: number
  readonly connections: Pick<Connections<unknown>, 'transaction'>
}

type Outbox = Pick<EffectStore<unknown>, 'find' | 'redrive' | 'discard' | 'resolve' | 'postpone'>

/**
 * The audit log. The deed and its entries are one transaction, which takes the head of the chain first: of many writers one
 * goes on, and whoever waits in vain has changed nothing. Operators serve every scope.
 */
export function postgresAudit(surroundings: Surroundings): AuditStore {
  const { queries, records, effects, execute, rowSecurity, statementTimeoutMs, connections } = surroundings
  const waitMs = Math.ceil(statementTimeoutMs / 2)

  async function enacted(
    deed: Deed,
    on: Execute,
    now: number,
  ): Promise<Extract<Acted, { kind: 'refused' }> | Happened[]> {
    switch (deed.kind) {
      case 'note':
        return [{ action: deed.action, scope: '', subject: deed.subject, before: undefined, after: undefined }]
      case 'redrive':
      case 'discard':
        return changed(deed, effects(on))
      case 'resolve':
        return resolved(deed, on, now)
      case 'look':
        return lookedAt(deed, on, now)
      case 'settle':
      case 'purge':
      case 'reconcile': {
        const table = recordTable(records, on)
        const found = await table.lock(deed.name)
        const isOpen =
          found !== undefined && (await on(everyScope, queries.hasOpenEffects, [found.record.id])).length > 0
        const came = enact(found?.record, deed, now, isOpen ? 'open' : 'final')
        if (came.kind === 'refused' || found === undefined) return came as Extract<Acted, { kind: 'refused' }>
        await table.write(found, came.next, came.call)
        return [came.happened]
      }
    }
  }

  /** What the fence does not let through was claimed or settled since it was read. */
  async function resolved(deed: ResolveDeed, on: Execute, now: number) {
    const outbox = effects(on)
    const came = enactResolve(await outbox.find(deed.claim.id), deed, now)
    if (came.kind === 'refused') return came
    if (!(await outbox.resolve(deed.claim, deed.evidence))) return { kind: 'refused', why: 'changed' } as const
    await on(everyScope, queries.testify, ofTestimonies([deed.said]))
    return [came.happened]
  }

  async function lookedAt(deed: LookDeed, on: Execute, now: number) {
    const outbox = effects(on)
    const came = enactLook(await outbox.find(deed.claim.id), deed, now)
    if (came.kind === 'refused') return came
    const { looks } = came.next
    const isHeld = await outbox.postpone(deed.claim, { looks, afterMs: deed.holdMs })
    return isHeld ? [came.happened] : ({ kind: 'refused', why: 'changed' } as const)
  }

  return {
    act: (deed, by) =>
      inOneCommit(connections, async ({ query }): Promise<{ value: Acted; isCommitted?: () => Promise<boolean> }> => {
        const on = await sessionExecutor(query, rowSecurity, everyScope)
        await on(everyScope, queries.patience, [`${waitMs}ms`])
        await on(everyScope, queries.begin, [])
        const [row] = await on(everyScope, queries.takeHead, [])
        const head = headOf(row)
        const now = Number(row?.now)
        const came = await enacted(deed, on, now)
        if (!Array.isArray(came)) return { value: came }
        const entries = await written(on, head, came, by, now)
        return { value: { kind: 'done', entries }, isCommitted: () => isWritten(entries) }
      }),
    async list({ subject, order, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const query = queries.list({ ...(subject !== undefined && { subject }), ...(order && { order }) })
      const first = order === 'newest' ? Number.MAX_SAFE_INTEGER : 0
      const place = after === undefined ? first : numberedPlace(after)
      const wanted = subject === undefined ? [] : [subject]
      const found = (await execute(everyScope, query, [String(place), size + 1, ...wanted])).map(entryOf)
      const entries = found.slice(0, size)
      return { entries, next: found.length > size ? String(entries.at(-1)?.sequence) : undefined }
    },
    head: async () => headOf((await execute(everyScope, queries.head, []))[0]),
  }

  async function written(on: Execute, head: AuditHead, happened: readonly Happened[], by: Actor, now: number) {
    const entries = chained(head, happened, by, now)
    for (const entry of entries) await on(everyScope, queries.insert, valuesOf(entry))
    const { sequence, hash } = headAfter(entries, head)
    await on(everyScope, queries.moveHead, [sequence, hash])
    return entries
  }

  /** Whoever holds the head has not committed yet: this waits for it. */
  async function isWritten(entries: readonly AuditEntry[]): Promise<boolean> {
    const { sequence, hash } = headAfter(entries, { sequence: 0, hash: '' })
    if (sequence === 0) return true
    return connections.transaction(async ({ query }) => {
      const on = await sessionExecutor(query, rowSecurity, everyScope)
      await on(everyScope, queries.takeHead, [])
      return (await on(everyScope, queries.isWritten, [sequence, hash])).length > 0
    })
  }
}

/** Redrives or discards, and says what became of each. */
async function changed(deed: EffectDeed, effects: Outbox): Promise<Happened[]> {
  const before = await Promise.all(deed.ids.map((id) => effects.find(id)))
  const after =
    deed.kind === 'redrive' ? await effects.redrive(deed.ids, deed.keyMemory) : await effects.discard(deed.ids)
  return after.map((effect) =>
    happenedTo(
      deed.kind,
      before.find((one) => one?.id === effect.id),
      effect,
    ),
  )
}

function valuesOf(entry: AuditEntry) {
  const { sequence, at, who, action, scope, subject, why, before, after, previous, hash } = entry
  return [sequence, at, who, action, scope, subject, why, before, after, previous, hash]
}

function headOf(row: Row | undefined): AuditHead {
  return { sequence: Number(row?.sequence ?? 0), hash: row?.hash ?? '' }
}

function entryOf(row: Row): AuditEntry {
  const text = (name: string) => row[name] ?? ''
  return {
    sequence: Number(row.sequence),
    at: Number(row.at_ms),
    who: text('who'),
    action: text('action') as AuditEntry['action'],
    scope: text('scope_id'),
    subject: text('subject'),
    why: text('why'),
    before: text('before'),
    after: text('after'),
    previous: text('previous'),
    hash: text('hash'),
  }
}
