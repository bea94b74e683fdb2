import type { Clock } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import type { Acted, Actor, AuditStore, Deed } from './audit-store.js'
import { progressOf } from './believing.js'
import type { Context } from './context.js'
import type { Finding } from './finding.js'
import { believableFrom } from './handed-out.js'
import { subjectIn } from './leaving.js'
import { Lookup } from './looking.js'
import { openedInTime } from './opened.js'
import { jsonified } from './plain.js'
import type { Progress } from './progress.js'
import type { QuotaOptions } from './quotas.js'
import type { Answer, RecordName, StoredRecord } from './record.js'
import { look } from './resuming.js'
import { believableAt, callSettlement } from './settling.js'
import type { ListQuery, Page, Settlement, Store, TenantPage, TenantQuery, Usage } from './store.js'
import { suppliedBy } from './supplied.js'
import { leaseOver } from './transitions.js'

/** What operators do with an engine, beside what anybody may: look at everything, and act, which is written down. */
export interface Operating {
  readonly store: Pick<Store, 'name' | 'grade'>
  readonly quotas: QuotaOptions | undefined
  list(query: ListQuery): Promise<Page>
  usage(tenant: string, atMost: number): Promise<Usage>
  tenants(query: TenantQuery): Promise<TenantPage>
  /** How far a record is: `unreadable` where this engine lacks the key that it is sealed with. */
  progressOf(record: StoredRecord): Progress | 'unreadable' | undefined
  /** Ends a doubt by a person's word, by the rules that hold for every evidence. */
  settle(name: RecordName, word: Word, by: Actor): Promise<Settled>
  /** Does something and writes it down in the same commit. */
  act(deed: Deed, by: Actor): Promise<Acted>
  readonly audit: Pick<AuditStore, 'list' | 'head'> | undefined
  /** `undefined` where the store has nothing to look at. */
  examine(): Promise<readonly Finding[] | undefined>
}

/** What a person says of a doubt, and on what grounds. */
export type Word = { readonly evidence: string } & (
  | { readonly says: 'landed'; readonly result?: unknown }
  | { readonly says: 'not_landed' }
  | { readonly says: 'completed'; readonly answer: Answer }
)

export type Settled =
  | Acted
  /** It landed, and what the handler needs of it is missing: the result of the call, or the answer to the request. */
  | {
      readonly kind: 'refused'
      readonly why: 'result_missing' | 'result_unusable' | 'answer_missing' | 'unreadable'
      readonly state: string
    }

export function operating<Tx>(context: Context<Tx>, quotas: QuotaOptions | undefined): Operating {
  const { wholeStore: store } = context
  const { audit } = store

  async function opened<T>(use: () => Promise<T>): Promise<T> {
    if (context.background.ended.isStopped) throw new HapaxError('engine_closed')
    await openedInTime(context)
    return use()
  }

  async function act(deed: Deed, by: Actor): Promise<Acted> {
    if (by.why.trim() === '') throw new HapaxError('policy_invalid', 'Say why: what people do is written down.')
    if (audit === undefined)
      throw new HapaxError('transaction_unsupported', `The ${store.name} store keeps no audit log.`)
    return opened(() => audit.act(deed, by))
  }

  async function settle(name: RecordName, word: Word, by: Actor): Promise<Settled> {
    const record = await opened(() => store.find(name))
    if (record === undefined) return { kind: 'refused', why: 'absent' }
    if (record.state !== 'unknown') return { kind: 'refused', why: 'state', state: record.state }
    const judged = judgement(context, record, word, by)
    if ('why' in judged) return { ...judged, state: record.state }
    if (word.says === 'landed' && !(await isUsable(context, record, word)))
      return { kind: 'refused', why: 'result_unusable', state: record.state }
    const early = tooEarly(judged.notBefore, context.clock)
    if (early !== undefined) return { ...early, state: record.state }
    const acted = await act({ kind: 'settle', name, ...judged, supplied: suppliedBy(word) }, by)
    const { says } = word
    if (acted.kind === 'done') context.events.emit('settled', () => ({ ...subjectIn(record), says, by: by.who }))
    return acted
  }

  return {
    store: { name: store.name, grade: store.grade },
    quotas,
    list: (query) => opened(() => store.list(query)),
    usage: (tenant, atMost) => opened(() => store.usage(tenant, atMost)),
    tenants: (query) => opened(() => store.tenants(query)),
    progressOf: (record) => progressOf(context, record),
    settle,
    act,
    audit: audit && { list: (query) => opened(() => audit.list(query)), head: () => opened(() => audit.head()) },
    examine: async () => store.examine?.(),
  }
}

/** The store judges by its own clock; that of the process which believes it has to agree. */
export function tooEarly(notBefore: number | undefined, clock: Pick<Clock, 'now'>): RefusedEarly | undefined {
  const retryAfterMs = (notBefore ?? 0) - clock.now()
  return retryAfterMs > 0 ? { kind: 'refused', why: 'too_early', retryAfterMs } : undefined
}

interface RefusedEarly {
  readonly kind: 'refused'
  readonly why: 'too_early'
  readonly retryAfterMs: number
}

/** What a word makes of a record, and from when on it counts; or what is missing. */
type Judged =
  | { readonly settlement: Settlement; readonly notBefore?: number }
  | { readonly kind: 'refused'; readonly why: 'result_missing' | 'answer_missing' | 'unreadable' }

function judgement<Tx>(context: Context<Tx>, record: StoredRecord, word: Word, by: Actor): Judged {
  const { generation, fence } = record
  const evidence = { by: by.who, why: word.evidence }
  if (word.says === 'completed') {
    const answerVersion = context.operations.find(record.operation)?.policy.answerVersion ?? 1
    const answer = { kind: 'kept', ...word.answer } as const
    return { settlement: { generation, fence, evidence, outcome: { kind: 'completed', answer, answerVersion } } }
  }
  const progress = progressOf(context, record)
  if (progress === 'unreadable') return { kind: 'refused', why: 'unreadable' }
  if (word.says === 'landed') return landed(context, record, progress, word, evidence)
  const settlement = progress && callSettlement(context, record, progress, { kind: 'not_landed' }, evidence)
  return {
    settlement: settlement ?? { generation, fence, evidence, outcome: { kind: 'not_landed' } },
    notBefore: believedFrom(record, progress),
  }
}

/** A handler goes on with what its call returned. One whose calls are not on record has nothing to go on with but its answer. */
function landed<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  progress: Progress | undefined,
  word: Extract<Word, { says: 'landed' }>,
  evidence: Settlement['evidence'],
): Judged {
  const { call } = progress ?? {}
  if (progress === undefined || call === undefined) return { kind: 'refused', why: 'answer_missing' }
  if (word.result === undefined && call.needsResult !== false) return { kind: 'refused', why: 'result_missing' }
  const result = word.result === undefined ? undefined : jsonified(word.result, 'result of the evidence')
  const settlement = callSettlement(context, record, progress, { kind: 'landed', result }, evidence)
  return settlement === undefined ? { kind: 'refused', why: 'answer_missing' } : { settlement }
}

/** Whether the handler says that it can go on with this, where its code is here: it could only fail, again and again. */
async function isUsable<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  { result }: Extract<Word, { says: 'landed' }>,
): Promise<boolean> {
  const progress = progressOf(context, record)
  if (result === undefined || progress === undefined || progress === 'unreadable') return true
  const said = { result: jsonified(result, 'result of the evidence') }
  const check = new Lookup<Tx>(record, progress, context.clock, said)
  await look(context, record, check)
  return check.accepted
}

/** A holder that was only slow may still act: for as long as its call, or its handler, may take. */
function believedFrom(record: StoredRecord, progress: Progress | undefined): number {
  if (progress?.call !== undefined) return believableAt(record, progress)
  if (progress?.handedOut !== undefined) return believableFrom(record, progress.handedOut)
  const { doubtedAt = 0, errorCode } = record
  return doubtedAt + (errorCode === leaseOver ? defaults.maxRunMs : defaults.callTimeoutMs)
}
