import { type Anchor, type VerifiedLog, verified } from '../engine/audit-chain.js'
import type { Actor, AuditEntry, Deed } from '../engine/audit-store.js'
import { subjectOfEffect, subjectOfRecord } from '../engine/deeds.js'
import type { Engine } from '../engine/engine.js'
import type { Word } from '../engine/operating.js'
import { ensurePlace, isPlaceText, placeParts, placeText } from '../engine/page-place.js'
import type { RecordName, StoredRecord } from '../engine/record.js'
import { scopeOf } from '../engine/scope.js'
import type { ListQuery } from '../engine/store.js'
import { adminTenant } from '../engine/tenant.js'
import type { Awaitable } from '../kernel/awaitable.js'
import { adminBounds, defaults, workerBounds } from '../kernel/limits.js'
import { type Counts, countsOf } from './counts.js'
import { type EffectDesk, effectDesk } from './effect-desk.js'
import { lookoutOf } from './effect-looking.js'
import { sentAnswer } from './given-answer.js'
import { type Health, healthOf } from './health.js'
import { type Listed, listed, type Paged, refusingPlaces, sizeOf } from './paging.js'
import { type PlainState, plainPage } from './plain-states.js'
import { entriesOf, Refused, stateWords } from './refused.js'
import type { GuardedRoute } from './route-audit.js'
import { type StatsView, statsView } from './stats.js'
import { phasesOf, type Story, sentencesOf } from './story.js'
import { tallies } from './tallies.js'
import { type Rates, type TenantView, tenantView } from './tenants.js'
import {
  type AuditView,
  auditView,
  callView,
  doubtViews,
  effectView,
  type RecordView,
  recordView,
  saidView,
  timeText,
} from './views.js'
import { type WorkerView, workerWatch } from './worker-watch.js'

export interface AdminOptions<Tx> {
  readonly hapax: Engine<Tx>
  /** Every route of the application that changes something, and whether it is guarded: `routesOf(app)`. */
  readonly routes?: () => Awaitable<readonly GuardedRoute[]>
  /** How often the tenants came back lately, as telemetry counts it. */
  readonly rates?: () => Rates
  /** `nothing`: no request comes to this process, so that a story says nothing of how often its key came back. */
  readonly serves?: 'requests' | 'nothing'
}

export type FindQuery = Omit<ListQuery, 'scope' | 'limit'> & {
  readonly scope?: string
  readonly limit?: number
  /** In place of `state`. */
  readonly plainState?: PlainState
}

/** A write, as it was written down. */
export interface Done {
  readonly record: RecordView
  readonly audit: readonly AuditView[]
}

/** What came of looking, as it was written down; with the record, where one was named. */
export interface LookedAt extends Partial<Done> {
  readonly came: Counts
}

/**
 * What operators do, once: the API and the command line are two doors to this. What is refused is thrown as `Refused`.
 */
export interface Admin extends EffectDesk {
  find(query: FindQuery): Promise<Listed<RecordView>>
  story(name: Named): Promise<Story>
  settle(name: Named, word: Word, by: Actor): Promise<Done>
  /** Has one doubt about a record looked at now, or all doubts whose time has come, those about effects too. */
  reconcile(by: Actor, name?: Named): Promise<LookedAt>
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

export function admin<Tx>({ hapax, routes, rates, serves = 'requests' }: AdminOptions<Tx>): Admin {
  const { operating, outbox, calls } = hapax
  const counted = serves === 'nothing' ? undefined : tallies(hapax.events, hapax.clock)
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
    const pausedUntil = record.state === 'unknown' ? watched.pausedUntil(record.operation) : undefined
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
      reservations: {
        count: record.attempt,
        first_at: timeText(record.createdAt),
        last_at: timeText(record.lastRunAt),
      },
      phases: phasesOf(record, progress),
      calls: made.map((call) => callView(call, said)),
      effects: effects.map(effectView),
      evidence: record.evidence.map(saidView),
      doubts: doubtViews(record),
      ...(pausedUntil !== undefined && { reconciler_paused_until: pausedUntil }),
      counts: counted?.of(recordView(record).record),
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

  /** Looks at one doubt and at nobody else's. It is written down before, and kept from whoever looks by himself. */
  async function lookedAt(name: Named, by: Actor): Promise<LookedAt> {
    const record = await found(name)
    if (!hapax.chores.canLook(record)) throw new Refused('kind_unknown', 'Its operation is not known here.')
    const entries = entriesOf(await operating.act(lookOf(record), by))
    const held = await found(name)
    const came = held.state === 'unknown' ? await hapax.chores.look(held) : 'settled'
    return { came: countsOf([came]), ...(await written(name, entries)) }
  }

  /** Looks at all whose time has come. That somebody said so is written down first, and then each before it is looked at. */
  async function lookedAtDue(by: Actor): Promise<LookedAt> {
    const entries = [...entriesOf(await operating.act({ kind: 'note', action: 'reconcile', subject: 'all' }, by))]
    /** `false`: it was claimed or settled meanwhile. */
    const begins = async (deed: Deed): Promise<boolean> => {
      const acted = await operating.act(deed, by)
      if (acted.kind === 'done') entries.push(...acted.entries)
      return acted.kind === 'done'
    }
    const asking = { mayAsk: () => true, heard: () => {}, begins: (record: StoredRecord) => begins(lookOf(record)) }
    const came = [
      ...(await hapax.chores.reconcile(workerBounds.reconcileBatch, asking)),
      ...((await lookoutOf(hapax)?.due(begins)) ?? []),
    ]
    return { came: countsOf(came), audit: entries.sort((a, b) => a.sequence - b.sequence).map(auditView) }
  }

  async function written(name: Named, entries: readonly AuditEntry[]): Promise<Done> {
    return { record: recordView(await found(name)), audit: entries.map(auditView) }
  }

  return {
    ...effectDesk(hapax),
    async find({ limit, scope, plainState, ...query }) {
      if (plainState !== undefined && query.state !== undefined)
        throw new Refused('invalid', 'Give state or plain_state, not both.')
      const asked = { ...query, limit: sizeOf(limit), ...(scope !== undefined && { scope: scopeText(scope) }) }
      const { records, next } = await refusingPlaces(async () =>
        plainState === undefined ? operating.list(asked) : plainPage(operating.list, plainState, asked),
      )
      return listed(records.map(recordView), next)
    },
    story: storyOf,
    async settle(name, word, by) {
      if (word.says === 'completed') sentAnswer(word.answer)
      const settled = await operating.settle(nameOf(name), word, by)
      return written(name, entriesOf(settled))
    },
    reconcile: (by, name) => (name === undefined ? lookedAtDue(by) : lookedAt(name, by)),
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
    async tenants({ limit, after }) {
      const place = after === undefined ? {} : { after: await refusingPlaces(async () => tenantPlace(after)) }
      const { tenants, next } = await operating.tenants({ ...place, limit: sizeOf(limit) })
      return listed(
        tenants.filter((tenant) => tenant !== adminTenant).map((tenant) => tenantView(tenant, hapax, rates)),
        next && placeText([next]),
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
      const { entries, next } = await refusingPlaces(() => auditIn(operating.audit).list(asked))
      return listed(entries.map(auditView), next)
    },
    verify: (anchor, passed) =>
      verified(auditIn(operating.audit), { ...(anchor && { anchor }), ...(passed && { passed }) }),
    close() {
      counted?.stop()
      watched.stop()
    },
  }
}

/** Puts a doubt off for as long as a look may take. */
function lookOf({ generation, fence, looks, ...name }: StoredRecord): Deed {
  const plan = { generation, fence, state: 'unknown', looks, afterMs: defaults.lookMs } as const
  return { kind: 'reconcile', name: nameOf(name), plan }
}

/** To a store any text is a place among tenants; to us one that a page has ended at. */
function tenantPlace(after: string): string {
  const [place] = placeParts(after)
  ensurePlace(isPlaceText(place))
  return place
}

function auditIn<A>(audit: A | undefined): A {
  if (audit === undefined) throw new Refused('unsupported', 'This store keeps no audit log.')
  return audit
}

/** As it is stored: whoever gives a scope has it from a list, or means a tenant. */
function scopeText(scope: string): RecordName['scope'] {
  if (scope !== '') return scope as RecordName['scope']
  throw new Refused('invalid', 'scope is empty.')
}

function nameOf({ scope, key }: Named): RecordName {
  return { scope: scopeText(scope), key: key as RecordName['key'] }
}
