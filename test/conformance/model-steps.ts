import fc from 'fast-check'
import {
  type Claim,
  type Completion,
  type Happening,
  keyOf,
  type RecordName,
  type Reservation,
  type Settlement,
  type State,
  type Store,
  scopeOf,
} from 'hapax'

/** One thing that happens in a random history: somebody calls the port, or time passes. */
export type ModelStep =
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'reserve'; readonly asked: Omit<Reservation, 'claimId'>; readonly claim: 'new' | 'repeated' }
  | { readonly kind: Write; readonly claimIndex: number; readonly text: string }
  | { readonly kind: 'settle'; readonly name: RecordName; readonly settlement: Settlement }
  | { readonly kind: 'abandon'; readonly operations: readonly string[] }
  | { readonly kind: 'sweep' | 'reap' | 'list' }

type Write = 'renew' | 'checkpoint' | 'complete' | 'fail' | 'doubt' | 'release'

/** What the history has made so far: the claims it may use again, in the order in which they were given. */
export interface History {
  readonly claims: Claim[]
  lastClaimId: number
}

const leaseMs = 100
const retentionMs = 1_000
const tombstoneMs = 3_000

/** Few names, so that histories meet; several fingerprints, one of them of another recipe. */
export const names: readonly RecordName[] = [
  { scope: scopeOf('acme'), key: keyOf('a') },
  { scope: scopeOf('acme'), key: keyOf('b') },
  { scope: scopeOf('globex'), key: keyOf('a') },
]

const aName = fc.constantFrom(...names)
const aFingerprint = fc.constantFrom('v1:aa', 'v1:aa', 'v1:aa', 'v1:bb', 'v2:aa') as fc.Arbitrary<
  Reservation['fingerprints'][0]
>

const aReservation = fc.record({
  kind: fc.constant('reserve' as const),
  claim: fc.constantFrom('new' as const, 'new' as const, 'repeated' as const),
  asked: fc
    .record({
      name: aName,
      fingerprints: fc.tuple(aFingerprint),
      retentionMs: fc.constantFrom(retentionMs, retentionMs, undefined),
      onLeaseOver: fc.constantFrom('resume' as const, 'doubt' as const),
      onExpired: fc.constantFrom('run' as const, 'run' as const, 'refuse' as const),
      onNew: fc.constantFrom('take' as const, 'take' as const, 'tell' as const),
    })
    .map(({ name, ...rest }) => ({ ...name, ...rest, operation: 'model', leaseMs, tombstoneMs })),
})

const aWrite = fc.record({
  kind: fc.constantFrom<Write[]>('renew', 'checkpoint', 'complete', 'complete', 'fail', 'doubt', 'release'),
  // Mostly the latest claims, sometimes a stale one.
  claimIndex: fc.nat({ max: 3 }),
  text: fc.constantFrom('', 'p', 'q'),
})

const anOutcome = fc.constantFrom<Settlement['outcome'][]>(
  { kind: 'not_landed' },
  { kind: 'landed', recoveryPoint: 'charged' },
  { kind: 'landed', recoveryPoint: 'charged', progress: Buffer.from('charged') },
  { kind: 'completed', ...completionOf('settled') },
)

const aSettlement = fc.record({
  kind: fc.constant('settle' as const),
  name: aName,
  settlement: fc.record({ outcome: anOutcome, generation: fc.constantFrom(1, 1, 1, 2) }).map(
    ({ outcome, generation }): Settlement => ({
      generation,
      outcome,
      evidence: { by: 'operator', why: 'asked' },
    }),
  ),
})

const anAbandoning = fc.record({
  kind: fc.constant('abandon' as const),
  operations: fc.constantFrom<(readonly string[])[]>([], [], ['model'], ['another']),
})

const aPause = fc.record({
  kind: fc.constant('wait' as const),
  ms: fc.constantFrom(0, 1, leaseMs - 1, leaseMs, retentionMs - 1, retentionMs, tombstoneMs),
})

export const aStep: fc.Arbitrary<ModelStep> = fc.oneof(
  { arbitrary: aReservation, weight: 5 },
  { arbitrary: aWrite, weight: 6 },
  { arbitrary: aPause, weight: 3 },
  { arbitrary: aSettlement, weight: 2 },
  { arbitrary: anAbandoning, weight: 2 },
  {
    arbitrary: fc.record({
      kind: fc.constantFrom('sweep' as const, 'reap' as const, 'reap' as const, 'list' as const),
    }),
    weight: 3,
  },
)

/** A step with its claim filled in, so that every store is asked for exactly the same. */
export type Call = (store: Store<unknown>) => Promise<unknown>

/** What the step asks of a store; `undefined` when it needs a claim and none was ever given. */
export function callOf(step: Exclude<ModelStep, { kind: 'wait' }>, history: History): Call | undefined {
  switch (step.kind) {
    case 'reserve': {
      const last = history.claims.findLast(({ scope, key }) => scope === step.asked.scope && key === step.asked.key)
      const claimId = step.claim === 'repeated' && last !== undefined ? last.claimId : `claim-${++history.lastClaimId}`
      return async (store) => store.reserve({ ...step.asked, claimId })
    }
    case 'settle':
      return (store) => store.settle(step.name, step.settlement)
    case 'sweep':
      return async (store) => inNameOrder(await store.sweep(100))
    case 'abandon':
      return async (store) => inNameOrder(await store.abandon({ operations: step.operations, limit: 100 }))
    case 'reap':
      return (store) => store.reap(100)
    case 'list':
      return async (store) => inNameOrder((await store.list({ limit: 100 })).records)
    default: {
      const claim = history.claims.at(-1 - step.claimIndex)
      return claim && writeOf(step.kind, claim, step.text)
    }
  }
}

function writeOf(kind: Write, claim: Claim, text: string): Call {
  switch (kind) {
    case 'renew':
      return (store) => store.renew(claim, leaseMs)
    case 'checkpoint': {
      const progress = text === '' ? {} : { progress: Buffer.from(text) }
      return (store) => store.checkpoint(claim, { recoveryPoint: 'begun', onLeaseOver: 'resume', leaseMs, ...progress })
    }
    case 'complete':
      return async (store) => store.complete(claim, completionOf(text))
    case 'fail':
      return (store) =>
        store.fail(claim, { errorCode: `failed ${text}`, ...(text === 'q' && { resumeAfterMs: leaseMs }) })
    case 'doubt':
      return (store) => store.doubt(claim, { errorCode: `doubted ${text}`, reconcileAfterMs: 50 })
    case 'release':
      return (store) => store.release(claim)
  }
}

/** Which happenings of the state table a step may cause. */
export const happeningsOf: Readonly<Record<Exclude<ModelStep['kind'], 'wait'>, readonly Happening[]>> = {
  reserve: ['reserve', 'resume', 'renew', 'sweep'],
  renew: ['renew'],
  checkpoint: ['checkpoint'],
  complete: ['complete'],
  fail: ['fail'],
  doubt: ['doubt'],
  release: ['release', 'release_attempt', 'release_generation'],
  settle: ['settle_completed', 'settle_landed', 'settle_not_landed'],
  sweep: ['sweep'],
  abandon: ['abandon'],
  reap: ['bury', 'delete'],
  list: [],
}

export type Standing = State | 'none'

function completionOf(text: string): Completion {
  return {
    answer: { kind: 'kept', status: 201, headers: [['x-text', text]], body: Buffer.from(text) },
    answerVersion: 1,
  }
}

/** In which order a sweep goes is a store's own affair. */
function inNameOrder<R extends RecordName>(records: readonly R[]): readonly R[] {
  return [...records].sort((a, b) => `${a.scope} ${a.key}`.localeCompare(`${b.scope} ${b.key}`))
}
