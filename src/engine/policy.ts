import { type Duration, formatDuration, parseDuration } from '../kernel/duration.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import type { Emitter } from '../kernel/events.js'
import { defaults, limits } from '../kernel/limits.js'
import type { Log } from '../kernel/log.js'
import type { OpaqueReason } from './canonical/canonical.js'
import { type Fingerprinter, type FingerprintOptions, fingerprinter } from './fingerprint/fingerprinter.js'
import type { Freshness } from './freshness.js'
import { isName } from './name.js'
import type { Answer } from './record.js'

/** What a failed handler means: run again, nobody knows, store the failure as the answer, or it never began. */
export type FailureMeaning = 'retry' | 'unknown' | 'store' | 'release'

/** What a policy may say of failures in general. `'store_answers'`: a 5xx is the answer, a handler that threw runs again. */
export type OnError = Exclude<FailureMeaning, 'release'> | 'store_answers'

/** How a handler failed: it answered with a 5xx, or it threw. */
export type FailureKind = 'answered' | 'threw'

/** How one operation is guarded. Everything has a default but the name. */
export interface PolicyOptions {
  /** The operation this guards, part of the fingerprint: the same key under another name is another request. */
  readonly name: string
  /** Raise it when the phases of the handler change: what another version left half done is doubt, not a fresh start. */
  readonly version?: number
  /**
   * `'transaction'`: the whole request is one transaction of the store's database. Its key is locked and never shown in
   * progress, a crash leaves nothing, and a 4xx undoes the rows and is stored. Default `'claim'`.
   */
  readonly mode?: 'claim' | 'transaction'
  /** How long an answer is kept: `'24h'`, `'7d'`, `'forever'`. */
  readonly retention?: Duration | 'forever'
  /** Below one hour clients on bad networks retry too late; say that you know. */
  readonly allowShortRetention?: true
  /** How long your clients go on retrying. A retention that is shorter refuses to start. */
  readonly retryHorizon?: Duration
  /** How long an expired key is still recognised, so that its reuse is never silent. */
  readonly tombstone?: Duration
  /** How long a claim lives without renewal: what a crash costs. */
  readonly lease?: Duration
  /** How long a handler may go on renewing. */
  readonly maxRun?: Duration
  /** What a duplicate gets while the first still runs. */
  readonly concurrency?: Concurrency
  /** With `concurrency: 'wait'`: for how long. */
  readonly waitFor?: Duration
  /** What a handler that throws, or answers 5xx, means. A function is given the error, or that answer, and decides. */
  readonly onError?: OnError | ((failure: unknown, kind: FailureKind) => FailureMeaning)
  /** What a crash in the middle means: nobody knows (the default), or the handler may simply run again. */
  readonly onCrash?: 'unknown' | 'retry'
  /** What a key past its retention means: run as new, visibly counted, or refuse. */
  readonly onExpired?: 'run' | 'refuse'
  /** Refuses a request that is new here, but older than its answer would be kept: it may have been answered before. */
  readonly freshness?: Freshness
  readonly fingerprint?: FingerprintOptions
  /** Raise it when the shape of the answers changes. */
  readonly answerVersion?: number
  /** Brings an answer stored under an older version to the present one. Without it, old answers replay as they are. */
  readonly upgradeAnswer?: (answer: Answer, fromVersion: number) => Answer
  readonly maxAnswerBytes?: number
  /** Runs the handler WITHOUT protection when the store is down: duplicates will run. Counted and logged each time. */
  readonly dangerouslyFailOpen?: true
}

export type Concurrency = 'reject' | 'wait' | 'accept'

/** A policy that was checked. Made by `hapax.policy()` only. */
export interface Policy<C extends Concurrency = Concurrency> {
  readonly name: string
  readonly version: number
  readonly mode: 'claim' | 'transaction'
  readonly retentionMs: number | undefined
  readonly tombstoneMs: number
  readonly leaseMs: number
  readonly maxRunMs: number
  readonly concurrency: C
  readonly waitMs: number
  readonly meaningOf: (failure: unknown, kind: FailureKind) => FailureMeaning
  readonly onCrash: 'unknown' | 'retry'
  readonly onExpired: 'run' | 'refuse'
  readonly freshness: Freshness | undefined
  readonly fingerprinter: Fingerprinter
  readonly answerVersion: number
  readonly upgradeAnswer: ((answer: Answer, fromVersion: number) => Answer) | undefined
  readonly maxAnswerBytes: number
  readonly failOpen: boolean
}

/** Checks the options once, at start, so that no request meets a policy that contradicts itself. */
export function policyOf<C extends Concurrency>(
  options: PolicyOptions & { readonly concurrency?: C },
  { log, events }: { readonly log: Log; readonly events: Emitter },
): Policy<C> {
  const { name, onError = 'retry' } = options
  const onOpaque = (reason: OpaqueReason) => {
    events.emit('compared_as_bytes', () => ({ operation: name, reason }))
    options.fingerprint?.onOpaque?.(reason)
  }
  const policy: Policy<C> = {
    name: checkedName(name),
    version: options.version ?? 1,
    mode: options.mode ?? 'claim',
    retentionMs: retentionOf(options),
    tombstoneMs: durationOr(options.tombstone, defaults.tombstoneMs, 'tombstone'),
    leaseMs: durationOr(options.lease, defaults.leaseMs, 'lease'),
    maxRunMs: durationOr(options.maxRun, defaults.maxRunMs, 'maxRun'),
    concurrency: options.concurrency ?? ('reject' as C),
    waitMs: durationOr(options.waitFor, defaults.waitMs, 'waitFor'),
    meaningOf: typeof onError === 'function' ? onError : meaningOf(onError),
    onCrash: options.onCrash ?? 'unknown',
    onExpired: options.onExpired ?? 'run',
    freshness: options.freshness,
    fingerprinter: fingerprinter({ ...options.fingerprint, onOpaque }),
    answerVersion: options.answerVersion ?? 1,
    upgradeAnswer: options.upgradeAnswer,
    maxAnswerBytes: options.maxAnswerBytes ?? defaults.maxAnswerBytes,
    failOpen: options.dangerouslyFailOpen ?? false,
  }
  refuseMisspellings(options)
  refuseContradictions(policy, options)
  warnOfRisks(policy, log)
  return Object.freeze(policy)
}

/** Every option, and for a choice what may be chosen. The compiler sees that none is missing. */
const choices: Readonly<Record<keyof PolicyOptions, readonly unknown[] | 'any'>> = {
  name: 'any',
  version: 'any',
  mode: ['claim', 'transaction'],
  retention: 'any',
  allowShortRetention: [true],
  retryHorizon: 'any',
  tombstone: 'any',
  lease: 'any',
  maxRun: 'any',
  concurrency: ['reject', 'wait', 'accept'],
  waitFor: 'any',
  onError: ['retry', 'unknown', 'store', 'store_answers'],
  onCrash: ['unknown', 'retry'],
  onExpired: ['run', 'refuse'],
  freshness: 'any',
  fingerprint: 'any',
  answerVersion: 'any',
  upgradeAnswer: 'any',
  maxAnswerBytes: 'any',
  dangerouslyFailOpen: [true],
}

/** A misspelt option would silently be the default: what nobody wants to learn in production. */
function refuseMisspellings(options: PolicyOptions): void {
  const known: Readonly<Record<string, readonly unknown[] | 'any'>> = choices
  for (const [option, value] of Object.entries(options)) {
    const allowed = known[option]
    if (allowed === 'any' || value === undefined || typeof value === 'function' || allowed?.includes(value)) continue
    const said =
      allowed === undefined ? 'is not an option' : `is ${JSON.stringify(value)}; choose ${allowed.join(', ')}`
    throw new HapaxError('policy_invalid', `Policy "${options.name}": ${option} ${said}.`)
  }
}

function refuseContradictions(policy: Policy, options: PolicyOptions): void {
  const { name, retentionMs = Number.POSITIVE_INFINITY, leaseMs, maxRunMs } = policy
  const refuse = (message: string): never => {
    throw new HapaxError('policy_invalid', `Policy "${name}": ${message}`)
  }
  if (retentionMs < limits.retentionFloorMs && options.allowShortRetention !== true) {
    refuse(
      `retention is under ${formatDuration(limits.retentionFloorMs)}, so late retries run again. Raise it, or set allowShortRetention: true.`,
    )
  }
  if (options.retryHorizon !== undefined && retentionMs < parseDuration(options.retryHorizon, 'retryHorizon')) {
    refuse(
      `retention is shorter than retryHorizon ${options.retryHorizon}: the last retries would run again. Raise the retention.`,
    )
  }
  if (retentionMs <= maxRunMs)
    refuse('retention must be longer than maxRun, or an answer expires before its first retry.')
  if (leaseMs < limits.leaseFloorMs) refuse(`lease must be at least ${formatDuration(limits.leaseFloorMs)}.`)
  if (maxRunMs < leaseMs) refuse('maxRun must not be shorter than the lease.')
  refuseUnknownFreshness(policy, refuse)
  if (!Number.isSafeInteger(policy.version) || policy.version < 1) refuse('version must be a whole number from 1.')
  if (policy.mode === 'transaction' && options.onError === 'unknown')
    refuse(
      "in mode 'transaction' a failure undoes everything, so there is nothing unknown about it. Leave onError out.",
    )
  if (policy.mode === 'transaction' && policy.failOpen)
    refuse("in mode 'transaction' there is nothing to run without the store. Leave dangerouslyFailOpen out.")
  if (policy.mode === 'transaction' && options.onCrash !== undefined)
    refuse("in mode 'transaction' a crash leaves nothing. Leave onCrash out.")
  if (!Number.isSafeInteger(policy.answerVersion) || policy.answerVersion < 1)
    refuse('answerVersion must be a whole number from 1.')
  if (!Number.isSafeInteger(policy.maxAnswerBytes) || policy.maxAnswerBytes < 0)
    refuse('maxAnswerBytes must be a whole number.')
}

function refuseUnknownFreshness({ freshness, retentionMs }: Policy, refuse: (message: string) => never): void {
  if (freshness === undefined) return
  if (retentionMs === undefined) refuse('answers are kept for ever, so no request is too old. Leave freshness out.')
  const isHeader = freshness.by === 'header' && typeof freshness.name === 'string' && freshness.name !== ''
  if (freshness.by !== 'key' && !isHeader)
    refuse("freshness is { by: 'key' }, or { by: 'header', name: 'repeatability-first-sent' }.")
}

function warnOfRisks(policy: Policy, log: Log): void {
  if (policy.retentionMs !== undefined && policy.retentionMs < limits.retentionWarnMs) {
    const message = `policy "${policy.name}" forgets after ${formatDuration(policy.retentionMs)}; clients may retry for a day.`
    log({ level: 'warn', code: 'retention_short', message })
  }
  if (policy.failOpen) {
    const message = `policy "${policy.name}" fails open: while the store is down its requests run without protection.`
    log({ level: 'warn', code: 'fails_open', message })
  }
}

/** What we throw at a handler and ask to be tried again, such as a transaction that was rolled back, is no answer. */
function meaningOf(onError: OnError): Policy['meaningOf'] {
  return (failure, kind) => {
    if (onError !== 'store' && onError !== 'store_answers') return onError
    if (kind === 'answered') return 'store'
    return onError === 'store_answers' || (isHapaxError(failure) && failure.retryable) ? 'retry' : 'store'
  }
}

function checkedName(name: string): string {
  if (isName(name)) return name
  const message = `A policy needs a name of 1 to ${limits.nameLength} printable characters, like 'payments.create'.`
  throw new HapaxError('policy_invalid', message)
}

function retentionOf({ retention }: PolicyOptions): number | undefined {
  return retention === 'forever' ? undefined : durationOr(retention, defaults.retentionMs, 'retention')
}

function durationOr(text: Duration | undefined, otherwiseMs: number, what: string): number {
  return text === undefined ? otherwiseMs : parseDuration(text, what)
}
