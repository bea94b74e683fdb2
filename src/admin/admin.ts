import { type DeadLetter, type DeadLetters, deadLetters } from '../effects/dead-letters.js'
import { type Anchor, type VerifiedLog, verified } from '../engine/audit-chain.js'
import type { Acted, Actor, AuditEntry } from '../engine/audit-store.js'
import { subjectOfRecord } from '../engine/deeds.js'
import type { EffectState, StoredEffect } from '../engine/effect-store.js'
import type { Engine } from '../engine/engine.js'
import type { Word } from '../engine/operating.js'
import type { RecordName, StoredRecord } from '../engine/record.js'
import { scopeOf } from '../engine/scope.js'
import type { ListQuery } from '../engine/store.js'
import type { Awaitable } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import { adminBounds, effectBounds, workerBounds } from '../kernel/limits.js'
import { type Health, healthOf } from './health.js'
import { type RefusalCode, Refused } from './refused.js'
import type { GuardedRoute } from './route-audit.js'
import { type Story, sentencesOf } from './story.js'
import { tallies } from './tallies.js'
import { type Rates, type TenantView, tenantView } from './tenants.js'
import {
  type AuditView,
  auditView,
  callView,
  type EffectView,
  effectView,
  type RecordView,
  recordView,
  saidView,
} from './views.js'
import { type WorkerView, workerWatch } from './worker-watch.js'

export interface AdminOptions<Tx> {
  readonly hapax: Engine<Tx>
  /** Every route of the application that changes something, and whether it is guarded: `routesOf(app)`. */
  readonly routes?: () => Awaitable<readonly GuardedRoute[]>
  /** How often the tenants came back lately, as telemetry counts it. */
  readonly rates?: () => Rates
}

export interface Listed<T> {
  readonly items: readonly T[]
  /** The `after` of the next page; absent on the last. */
  readonly next?: string
}

export type FindQuery = Omit<ListQuery, 'scope' | 'limit'> & { readonly scope?: string; readonly limit?: number }

export interface DeadLetterView extends EffectView {
  readonly age_ms: number
  readonly redrive: DeadLetter['plan']
}

export interface RedriveQuery {
  readonly ids?: readonly number[]
  readonly kind?: string
  readonly acknowledge?: 'may_run_twice'
}

/** What came of a redrive or a discard. */
export interface Changed {
  readonly effects: readonly (DeadLetterView & { readonly changed: boolean })[]
  /** Those of the ids that are not dead, or not there. */
  readonly not_dead: readonly number[]
}

/** A write, as it was written down. */
export interface Done {
  readonly record: RecordView
  readonly audit: readonly AuditView[]
}

/**
 * What operators do, once: the API and the command line are two doors to this. What is refused is thrown as `Refused`.
 */
export interface Admin {
  find(query: FindQuery): Promise<Listed<RecordView>>
  story(name: Named): Promise<Story>
  settle(name: Named, word: Word, by: Actor): Promise<Done>
  /** Has one doubt looked at now, or all whose time has come. */
  reconcile(by: Actor, name?: Named): Promise<{ readonly came: Readonly<Record<string, number>> }>
  purge(name: Named, by: Actor): Promise<Done>
  effects(query: { readonly state?: EffectState; readonly kind?: string } & Paged): Promise<Listed<EffectView>>
  deadLetters(query: { readonly kind?: string } & Paged): Promise<Listed<DeadLetterView>>
  previewRedrive(query: RedriveQuery): Promise<Changed>
  redrive(query: RedriveQuery, by: Actor): Promise<Changed>
  discard(ids: readonly number[], by: Actor): Promise<Changed>
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

export interface Paged {
  readonly limit?: number
  readonly after?: string
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
    const done = await operating.audit?.list({ subject: subjectOfRecord(record), limit: adminBounds.largestPage })
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
      operator_actions: (done?.entries ?? []).map(auditView),
    } as const
    return { ...told, sentences: sentencesOf(told, record, progress === 'unreadable' ? undefined : progress) }
  }

  async function written(name: Named, entries: readonly AuditEntry[]): Promise<Done> {
    return { record: recordView(await found(name)), audit: entries.map(auditView) }
  }

  /** Whatever the letters change is written down in the same commit. */
  function letters(by: Actor): DeadLetters {
    if (outbox === undefined) throw new Refused('unsupported', 'This store keeps no effects.')
    const audited = async (deed: Parameters<typeof operating.act>[0]): Promise<readonly StoredEffect[]> => {
      const acted = entriesOf(await operating.act(deed, by))
      const changed = await Promise.all(acted.map(({ subject }) => outbox.find(Number(subject.split(':')[1]))))
      return changed.filter((effect) => effect !== undefined)
    }
    const store = {
      list: outbox.list.bind(outbox),
      find: outbox.find.bind(outbox),
      redrive: (ids: readonly number[], keyMemory?: 'anew') =>
        audited({ kind: 'redrive', ids, ...(keyMemory && { keyMemory }) }),
      discard: (ids: readonly number[]) => audited({ kind: 'discard', ids }),
    }
    const { effects = { kinds: new Map() }, clock, events } = hapax
    return deadLetters({ store, ...(calls !== undefined && { calls }), effects, clock, events })
  }

  async function redriven(query: RedriveQuery, mode: 'preview' | 'apply', by: Actor): Promise<Changed> {
    if (query.ids === undefined && query.kind === undefined)
      throw new Refused('invalid', 'Say which: give ids, or a kind.')
    const driven = await letters(by).redrive({ mode, ...query })
    const effects = driven.map(({ redriven: changed, ...letter }) => ({ ...letterView(letter), changed }))
    return { effects, not_dead: missingOf(query.ids, effects) }
  }

  return {
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
      return { came: countsOf(await hapax.chores.reconcile(workerBounds.reconcileBatch)) }
    },
    async purge(name, by) {
      const { generation } = await found(name)
      const acted = await operating.act({ kind: 'purge', name: nameOf(name), generation }, by)
      if (acted.kind === 'refused' && acted.why === 'state') throw new Refused('not_completed', stateWords(acted.state))
      return written(name, entriesOf(acted))
    },
    async effects({ limit, ...query }) {
      if (outbox === undefined) throw new Refused('unsupported', 'This store keeps no effects.')
      const { effects, next } = await outbox.list({ ...query, limit: sizeOf(limit) })
      return listed(effects.map(effectView), next)
    },
    async deadLetters({ limit, ...query }) {
      const size = Math.min(sizeOf(limit), effectBounds.deadLetters)
      const page = await letters(nobody).list({ ...query, limit: size })
      return listed(page.letters.map(letterView), page.next)
    },
    previewRedrive: (query) => redriven(query, 'preview', nobody),
    redrive: (query, by) => redriven(query, 'apply', by),
    async discard(ids, by) {
      const shown = await letters(nobody).redrive({ mode: 'preview', ids })
      const ended = await letters(by).discard(ids, by.why)
      const effects = shown.map(({ redriven: _, ...letter }) => ({
        ...letterView(letter),
        changed: ended.some(({ id }) => id === letter.effect.id),
      }))
      return { effects, not_dead: missingOf(ids, effects) }
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

/** Who only looks. */
const nobody: Actor = { who: '', why: '' }

function auditIn<A>(audit: A | undefined): A {
  if (audit === undefined) throw new Refused('unsupported', 'This store keeps no audit log.')
  return audit
}

type AnyRefusal = { readonly why: string; readonly state?: string; readonly retryAfterMs?: number }

const codes: Readonly<Record<string, RefusalCode>> = { state: 'not_in_doubt' }

function entriesOf(acted: Acted | ({ readonly kind: 'refused' } & AnyRefusal)): readonly AuditEntry[] {
  if (acted.kind === 'done') return acted.entries
  const code = codes[acted.why] ?? (acted.why as RefusalCode)
  const detail = code === 'not_in_doubt' ? stateWords(acted.state) : undefined
  throw new Refused(code, detail, 'retryAfterMs' in acted ? acted.retryAfterMs : undefined)
}

function stateWords(state: string | undefined): string {
  const why = state === 'in_progress' ? ': somebody holds it' : state === 'completed' ? ': it has its answer' : ''
  return `The record is ${state}${why}.`
}

function letterView({ effect, ageMs, plan }: DeadLetter): DeadLetterView {
  return { ...effectView(effect), age_ms: ageMs, redrive: plan }
}

function missingOf(ids: readonly number[] | undefined, effects: readonly { readonly id: number }[]): readonly number[] {
  return (ids ?? []).filter((id) => !effects.some((effect) => effect.id === id))
}

function listed<T>(items: readonly T[], next: string | undefined): Listed<T> {
  return { items, ...(next !== undefined && { next }) }
}

function sizeOf(limit: number = adminBounds.page): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= adminBounds.largestPage) return limit
  throw new Refused('invalid', `limit is a whole number from 1 to ${adminBounds.largestPage}.`)
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
