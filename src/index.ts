/**
 * What an application needs: the engine, its policies, and the words of its answers. Stores have their own entry
 * points, so that an application loads only the one it uses.
 */

export {
  type DeadLetter,
  type DeadLetterOptions,
  type DeadLetterPage,
  type DeadLetters,
  deadLetters,
  type RedrivePlan,
  type RedriveRequest,
} from './effects/dead-letters.js'
export { effects } from './effects/effects.js'
export {
  type EffectReconciler,
  type EffectReconcilerOptions,
  effectReconciler,
  type Reconciled,
} from './effects/reconciler.js'
export {
  type BossShape,
  bullmqRelay,
  type HttpRelayOptions,
  httpRelay,
  pgBossRelay,
  type QueueShape,
} from './effects/relays.js'
export type { Passed } from './effects/watch.js'
export { type EffectWorker, effectWorker } from './effects/worker.js'
export type { EffectWorkerOptions } from './effects/worker-options.js'
export { type Anchor, type BrokenChain, type VerifiedLog, verified } from './engine/audit-chain.js'
export type * from './engine/audit-store.js'
export type * from './engine/call-store.js'
export type { OpaqueReason } from './engine/canonical/canonical.js'
export type { Asking, Chores, Heard } from './engine/chores.js'
export type {
  EffectAbout,
  EffectCall,
  EffectDefinition,
  EffectKind,
  Effects,
  Relay,
  RelayMessage,
  RetryOptions,
} from './engine/effect-definition.js'
export * from './engine/effect-store.js'
export { type Engine, type EngineOptions, engine, type OperationRequest, type RunRequest } from './engine/engine.js'
export type { Finding } from './engine/finding.js'
export type { FieldPath } from './engine/fingerprint/fields.js'
export type { Fingerprint } from './engine/fingerprint/fingerprint.js'
export type { FingerprintOptions } from './engine/fingerprint/fingerprinter.js'
export type { FingerprintSecret } from './engine/fingerprint/recipe.js'
export type { FingerprintSource } from './engine/fingerprint/source.js'
export type { FingerprintStrategy } from './engine/fingerprint/strategy.js'
export type { Freshness } from './engine/freshness.js'
export type { Guarded } from './engine/guarded.js'
export type * from './engine/inbox-store.js'
export { type IdempotencyKey, type KeyRules, keyFormats, keyOf } from './engine/key.js'
export type { Limiter, Rate } from './engine/limiter.js'
export type { Counted, CountedDoubts, Measured, MeasuredEffects } from './engine/measured.js'
export type { Operating, Settled, Word } from './engine/operating.js'
export type { Operation, OperationOptions, OperationReply } from './engine/operation.js'
export type { Answered, Outcome } from './engine/outcome.js'
export type { Accepted, Done, Jsonified } from './engine/plain.js'
export type { Concurrency, FailureKind, FailureMeaning, OnError, Policy, PolicyOptions } from './engine/policy.js'
export type { QuotaOptions } from './engine/quotas.js'
export type { Answer, Claim, Evidence, KeptEvidence, RecordName, StoredAnswer, StoredRecord } from './engine/record.js'
export type { CachedReplay, KeptReplay, ReplayCache, ReplayCacheOptions } from './engine/replay-cache.js'
export { type Item, type ItemResult, runEach } from './engine/run-each.js'
export { type Scope, type ScopeParts, scopeOf, scopeParts } from './engine/scope.js'
export type { EncryptionOptions } from './engine/sealing.js'
export { type Happening, nextState, type State, states, stateTable, type Transition } from './engine/state.js'
export type * from './engine/store.js'
export type { CallEvidence } from './engine/testimony.js'
export type { Reservation, Verdict } from './engine/verdict.js'
export type {
  Called,
  CallFailure,
  Calling,
  CallOptions,
  EffectOptions,
  LookedUp,
  Phase,
  ResultNeed,
  Work,
} from './engine/work.js'
export { type Contract, type ContractAbout, contractOf } from './http/contract.js'
export type { PublishedTime, RouteContract } from './http/contract-data.js'
export { errorsPage } from './http/errors-page.js'
export type { Reply } from './http/exchange.js'
export { type KeyHeaderRules, type KeySyntax, parseKeyHeader } from './http/header.js'
export type { KeyStatusOptions } from './http/key-status.js'
export { type OpenApiFragment, type OpenApiOperation, openApiOf } from './http/openapi.js'
export type { ProblemFacts, ProblemShape, Profile, ProfileDefaults, ReplayRule } from './http/profile.js'
export { profiles } from './http/profiles/profiles.js'
export type { GuardedMethod, OperationRouteOptions, RouteOptions } from './http/route.js'
export type { Delivery, HeaderSource, IncomingDelivery, Verified, Verify } from './inbox/delivery.js'
export type { InboxHost } from './inbox/host.js'
export { type Inbox, inbox } from './inbox/inbox.js'
export type { InboxOptions, Received } from './inbox/options.js'
export type { WebhookReply } from './inbox/replies.js'
export type { SignatureOptions } from './inbox/signature.js'
export { standardWebhooks } from './inbox/standard-webhooks.js'
export { stripeSignature } from './inbox/stripe-signature.js'
export type { WebhookEvidence } from './inbox/testimonies.js'
export { type Chance, systemChance } from './kernel/chance.js'
export { type Clock, systemClock } from './kernel/clock.js'
export type { Duration } from './kernel/duration.js'
export { catalogue, type ErrorCode, type Fault, HapaxError, isHapaxError } from './kernel/errors.js'
export {
  type Detail,
  type EffectSubject,
  type EventName,
  type Events,
  eventNames,
  type Listener,
  type Subject,
  type Tallied,
} from './kernel/events.js'
export { defaults, limits } from './kernel/limits.js'
export type { Log, LogEntry } from './kernel/log.js'
export type { Trace, TraceAbout, TraceEnd, Tracing } from './kernel/tracing.js'
export type { EffectServiceOptions } from './workers/effect-services.js'
export type { WorkersHost } from './workers/host.js'
export {
  agree,
  type Both,
  compareLedgers,
  type Differences,
  type LedgerEntry,
  type LedgerOptions,
  type LedgerReport,
} from './workers/ledger.js'
export type { OurEntry, Window } from './workers/ledger-ours.js'
export type { LedgerSource } from './workers/ledger-source.js'
export type { LedgerWorkerOptions } from './workers/ledger-worker.js'
export type { WorkerOptions } from './workers/options.js'
export type { Did, WorkerStatus } from './workers/passes.js'
export type { ReaperOptions } from './workers/reaper.js'
export { type ServicesOptions, type WorkerName, workerNames } from './workers/services.js'
export { startWorkers, type WorkDone, type Workers, type WorkersOptions, workOnce } from './workers/workers.js'
