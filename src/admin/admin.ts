import { type Anchor, type VerifiedLog, verified } from '../engine/audit-chain.js'
import type { Actor, AuditEntry } from '../engine/audit-store.js'
import { subjectOfEffect, subjectOfRecord } from '../engine/deeds.js'
import type { Engine } from '../engine/engine.js'
import type { Reconciled } from '../engine/leaving.js'
import type { Word } from '../engine/operating.js'
import type { RecordName, StoredRecord } from '../engine/record.js'
import { scopeOf } from '../engine/scope.js'
import type { ListQuery } from '../engine/store.js'
import type { Awaitable } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import { adminBounds, workerBounds } from '../kernel/limits.js'
import { type EffectDesk, effectDesk } from './effect-desk.js'
import { type Health, healthOf } from './health.js'
import { type Listed, listed, type Paged, sizeOf } from './paging.js'
import { entriesOf, Refused, stateWords } from './refused.js'
import type { GuardedRoute } from './route-audit.js'
import { type StatsView, statsView } from './stats.js'
import { type Story, sentencesOf } from './story.js'
import { tallies } from './tallies.js'
import { type Rates, type TenantView, tenantView } from './tenants.js'
import { type AuditView, auditView, callView, effectView, type RecordView, recordView, saidView } from './views.js'
import { type WorkerView, workerWatch } from './worker-watch.js'

export interface AdminOptions<Tx> {
  readonly hapax: Engine<Tx>
  /** Every route of the application that changes something, and whether it is guarded: `routesOf(app)`. */
  readonly routes?: () => Awaitable<readonly GuardedRoute[]>
  /** How often the tenants came back lately, as telemetry counts it. */
  readonly rates?: () => Rates
}

export type FindQuery = Omit<ListQuery, 'scope' | 'limit'> & { readonly scope?: string; readonly limit?: number }

/** A write, as it was written down. */
export interface Done {
  readonly record: RecordView
  readonly audit: readonly AuditView[]
}

/**
 * What operators do, once: the API and the command line are two doors to this. What is refused is thrown as `Refused`.
 */
export interface Admin extends EffectDesk {
  find(query: FindQuery): Promise<Listed<RecordView>>
  story(name: Named): Promise<Story>
  settle(name: Named, word: Word, by: Actor): Promise<Done>
  /** Has one doubt looked at now, or all whose time has come. */
  reconcile(by: Actor, name?: Named): Promise<{ readonly came: Readonly<Record<string, number>> }>
  purge(name: Named, by: Actor): Promise<Done>
  /** How much there is of what somebody should know of, counted within a bound. */
  stats(): Promise<StatsView>
  tenants(query: Paged): Promise<Listed<TenantView>>
  tenant(tenant: string): Promise<TenantView>
  routes(): Promise<readonly GuardedRoute[]>
  workers(): Promise<readonly WorkerView[]>
  health(): Promise<Health>
  audit(query: { readonly about?: Named; readonly order?: 'oldest' | 'newest' } & Paged): Promise<Listed<AuditView>>
  verify(anchor?: Anchor, passed?: (sequence: number, of: number) => void): Promise<VerifiedLog>
  close(): void
}

/** A record by its scope and key. */
export interface Named {
  readonly scope: string
  readonly key: string
}

export function admin<Tx>({ hapax, routes, rates }: AdminOptions<Tx>): Admin {
  const { operating, outbox, calls } = hapax
  const counted = tallies(hapax.events, hapax.clock)
  const watched = workerWatch(hapax.events, hapax.clock)

  async function found(name: Named): Promise<StoredRecord> {
    const record = await hapax.find(nameOf(name))
    if (record === undefined) throw new Refused('absent')
    return record
  }

  async function storyOf(name: Named): Promise<Story> {
    const record = await found(name)
    const progress = operating.progressOf(record)
    const made = (await calls?.list({ record: record.id, limit: adminBounds.largestPage }))?.calls ?? []
    const said = (await calls?.testimonies(made.map(({ key }) => key))) ?? []
    const effects = (await outbox?.list({ record: record.id, limit: adminBounds.largestPage }))?.effects ?? []
    const done = await actionsOn([subjectOfRecord(record), ...effects.map(({ id }) => subjectOfEffect(id))])
    const { answer } = record
    const told = {
      record: recordView(record),
      ...(answer && {
        answer: {
          status: answer.status,
          bytes: answer.kind === 'kept' ? answer.body.byteLength : answer.bytes,
          kept: answer.kind === 'kept',
          headers: answer.headers,
        },
      }),
      phases: progress === 'unreadable' ? progress : (progress?.phases ?? []).map(({ name }) => name),
      calls: made.map((call) => callView(call, said)),
      effects: effects.map(effectView),
      evidence: record.evidence.map(saidView),
      counts: counted.of(recordView(record).record),
      operator_actions: done.map(auditView),
    } as const
    return { ...told, sentences: sentencesOf(told, record, progress === 'unreadable' ? undefined : progress) }
  }

  /** What people did to a record and to its effects, of which the first few are looked at, in order. */
  async function actionsOn(subjects: readonly string[]): Promise<readonly AuditEntry[]> {
    const looked = subjects.slice(0, 1 + adminBounds.storyEffects)
    const pages = looked.map((subject) => operating.audit?.list({ subject, limit: adminBounds.largestPage }))
    const entries = (await Promise.all(pages)).flatMap((page) => page?.entries ?? [])
    return entries.sort((a, b) => a.sequence - b.sequence)
  }

  /** What came of a look at one doubt, and of nobody else's. */
  async function lookedAt(name: Named): Promise<Reconciled> {
    await hapax.chores.reconcile(workerBounds.reconcileBatch)
    const { state, reconcileAfter } = await found(name)
    if (state !== 'unknown') return 'settled'
    return reconcileAfter === undefined ? 'left_to_operator' : 'put_off'
  }

  async function written(name: Named, entries: readonly AuditEntry[]): Promise<Done> {
    return { record: recordView(await found(name)), audit: entries.map(auditView) }
  }

  return {
    ...effectDesk(hapax),
    async find({ limit, scope, ...query }) {
      const asked = { ...query, limit: sizeOf(limit), ...(scope !== undefined && { scope: scopeText(scope) }) }
      const { records, next } = await refusingPlaces(() => operating.list(asked))
      return listed(records.map(recordView), next)
    },
    story: storyOf,
    async settle(name, word, by) {
      const settled = await operating.settle(nameOf(name), word, by)
      return written(name, entriesOf(settled))
    },
    async reconcile(by, name) {
      if (name === undefined) {
        const came = await hapax.chores.reconcile(workerBounds.reconcileBatch)
        entriesOf(await operating.act({ kind: 'note', action: 'reconcile', subject: 'all' }, by))
        return { came: countsOf(came) }
      }
      const { generation, fence, looks } = await found(name)
      const plan = { generation, fence, state: 'unknown', looks, afterMs: 0 } as const
      entriesOf(await operating.act({ kind: 'reconcile', name: nameOf(name), plan }, by))
      return { came: countsOf([await lookedAt(name)]) }
    },
    async purge(name, by) {
      const { generation } = await found(name)
      const acted = await operating.act({ kind: 'purge', name: nameOf(name), generation }, by)
      if (acted.kind === 'refused' && acted.why === 'state')
        throw new Refused('not_completed', stateWords('record', acted.state))
      return written(name, entriesOf(acted))
    },
    async stats() {
      const measured = await hapax.measure()
      if (measured === undefined) throw new Refused('unsupported', 'This store does not count what it holds.')
      return statsView(measured)
    },
    async tenants({ limit, ...query }) {
      const { tenants, next } = await operating.tenants({ ...query, limit: sizeOf(limit) })
      return listed(
        tenants.map((tenant) => tenantView(tenant, hapax, rates)),
        next,
      )
    },
    async tenant(tenant) {
      const escaped = scopeOf(tenant)
      return { ...tenantView(escaped, hapax, rates), usage: await operating.usage(escaped, adminBounds.countedKeys) }
    },
    async routes() {
      if (routes === undefined)
        throw new Refused('unsupported', 'This API was not told of the routes: give admin({ routes }).')
      return routes()
    },
    workers: async () => watched.seen(),
    health: () => healthOf(operating),
    async audit({ about, limit, ...query }) {
      const subject = about && subjectOfRecord(nameOf(about))
      const asked = { ...query, ...(subject !== undefined && { subject }), limit: sizeOf(limit) }
      const { entries, next } = await auditIn(operating.audit).list(asked)
      return listed(entries.map(auditView), next)
    },
    verify: (anchor, passed) =>
      verified(auditIn(operating.audit), { ...(anchor && { anchor }), ...(passed && { passed }) }),
    close() {
      counted.stop()
      watched.stop()
    },
  }
}

function auditIn<A>(audit: A | undefined): A {
  if (audit === undefined) throw new Refused('unsupported', 'This store keeps no audit log.')
  return audit
}

function countsOf(came: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const one of came) counts[one] = (counts[one] ?? 0) + 1
  return counts
}

/** As it is stored: whoever gives a scope has it from a list, or means a tenant. */
function scopeText(scope: string): RecordName['scope'] {
  if (scope !== '') return scope as RecordName['scope']
  throw new Refused('invalid', 'scope is empty.')
}

function nameOf({ scope, key }: Named): RecordName {
  return { scope: scopeText(scope), key: key as RecordName['key'] }
}

/** A place that no page of ours has ended at is the caller's mistake. */
async function refusingPlaces<T>(list: () => Promise<T>): Promise<T> {
  try {
    return await list()
  } catch (error) {
    if (error instanceof SyntaxError || (error instanceof Error && error.message.includes('a page goes on where')))
      throw new Refused('invalid', 'after is no next of a page of this query.')
    if (error instanceof HapaxError) throw error
    throw error
  }
}
