import { type Awaitable, attempted, isPromise } from '../kernel/awaitable.js'
import { HapaxError, invariant, isHapaxError } from '../kernel/errors.js'
import { type Admission, admissionOf } from './admission.js'
import { type Context, subjectOf } from './context.js'
import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { Guarded } from './guarded.js'
import type { Judged, Reservation, Verdict } from './verdict.js'

/** The verdict, and when it was asked for on the monotonic clock: a lease cannot have begun before that. */
export interface Asked {
  readonly verdict: Judged
  readonly askedAt: number
}

/** Asks the store for the key, or first whether it would be new, where somebody may be turned away. */
export function reserve<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, current: Fingerprint): Awaitable<Asked> {
  const admission = admissionOf(context, guarded)
  const claimId = context.chance.id()
  if (admission !== undefined) return reserveIfAdmitted(context, guarded, admission, { claimId, current })
  return taken(context, guarded, { claimId, current })
}

export interface Asking {
  readonly claimId: string
  readonly current: Fingerprint
}

/** Whoever comes with a known key is let through, and whoever is turned away has changed nothing. */
async function reserveIfAdmitted<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  admission: Admission,
  asking: Asking,
): Promise<Asked> {
  try {
    const known = await ifKnown(context, guarded, asking)
    if (known !== undefined) return known
    const refused = await refusalOf(admission)
    if (refused === undefined) return await taken(context, guarded, asking)
    // While that was found out, another node may have taken the key: then this is a retry, which nothing holds up.
    const takenByNow = await attempted(
      () => ifKnown(context, guarded, asking),
      () => undefined,
    )
    if (takenByNow !== undefined) return takenByNow
    context.events.emit('turned_away', () => ({ ...subjectOf(guarded), errorCode: refused.code }))
    throw refused
  } finally {
    admission.leave()
  }
}

/** What the store says of a key that is known; `undefined` when it is new. */
function ifKnown<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, asking: Asking): Awaitable<Asked | undefined> {
  const askedAt = context.clock.elapsed()
  return compared(context, guarded, reservationOf(context, guarded, asking, 'tell'), askedAt, (verdict) =>
    verdict.kind === 'new' ? undefined : { verdict, askedAt },
  )
}

/** Why the key is not let in. Any other error is a bug and goes on its way. */
function refusalOf(admission: Admission): Promise<HapaxError | undefined> {
  return admission.admit().then(
    () => undefined,
    (error: unknown) => {
      if (isHapaxError(error)) return error
      throw error
    },
  )
}

function taken<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, asking: Asking): Awaitable<Asked> {
  const askedAt = context.clock.elapsed()
  return compared(context, guarded, reservationOf(context, guarded, asking, 'take'), askedAt, judged)
}

function judged(verdict: Judged | IsNew, askedAt: number): Asked {
  invariant(verdict.kind !== 'new', 'a key that may be taken is taken')
  return { verdict, askedAt }
}

/**
 * A record whose fingerprint was made by another recipe is compared under that recipe; one that this release cannot
 * make is an error, never a mismatch.
 */
function compared<Tx, T>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  reservation: Reservation,
  askedAt: number,
  goOn: (verdict: Judged | IsNew, askedAt: number) => T,
): Awaitable<T> {
  return ask(context, reservation, askedAt, (verdict) => {
    if (verdict.kind !== 'incomparable') return goOn(verdict, askedAt)
    const anew = comparedAnew(guarded, reservation, verdict)
    if (anew === undefined) return goOn({ kind: 'mismatched' }, askedAt)
    return ask(context, anew, context.clock.elapsed(), (again) => {
      if (again.kind === 'incomparable') throw unknownRecipe(again.recipe)
      return goOn(again, askedAt)
    })
  })
}

/**
 * The same reservation, to be compared under the recipe that the record was made by. `undefined` where that cannot be made
 * here and need not be: a key that was used for another operation was used for another request.
 */
export function comparedAnew<Tx>(
  { policy, source }: Guarded<Tx>,
  reservation: Reservation,
  { recipe, operation }: Incomparable,
): Reservation | undefined {
  const [current, before] = reservation.fingerprints
  const older = before === undefined ? policy.fingerprinter.under(recipe, source) : undefined
  if (older !== undefined) return { ...reservation, fingerprints: [current, older] }
  if (operation !== policy.name) return undefined
  throw unknownRecipe(recipe)
}

type IsNew = Extract<Verdict, { readonly kind: 'new' }>
type Incomparable = Extract<Verdict, { readonly kind: 'incomparable' }>

/** What comes next is given in: a promise for each of these functions, on every request, would cost more than they do. */
function ask<Tx, T>(
  context: Context<Tx>,
  reservation: Reservation,
  startedAt: number,
  goOn: (verdict: Verdict) => Awaitable<T>,
): Awaitable<T> {
  const again = (error: unknown) => askAgain(context, reservation, startedAt, error).then(goOn)
  let verdict: Awaitable<Verdict>
  try {
    verdict = context.store.reserve(reservation)
  } catch (error) {
    return again(error)
  }
  return isPromise(verdict) ? verdict.then(goOn, again) : goOn(verdict)
}

/** A reply that was lost is asked for again, once, under the same claim id, which the store recognises. */
async function askAgain<Tx>(
  { store, clock, storeTimeoutMs, abandoned }: Context<Tx>,
  reservation: Reservation,
  startedAt: number,
  error: unknown,
): Promise<Verdict> {
  // Only here the reservation may stand: any other error says that nothing happened.
  if (!isHapaxError(error, 'idempotency_store_unavailable')) throw error
  const isTimeLeft = clock.elapsed() - startedAt < storeTimeoutMs
  const second = isTimeLeft
    ? await attempted(
        () => store.reserve(reservation),
        () => undefined,
      )
    : undefined
  // Where somebody else has the key the first may still land, as soon as that one gives it back.
  if (second === undefined || isRefused(second)) abandoned.add(reservation)
  if (second === undefined) throw error
  return second
}

function isRefused({ kind }: Verdict): boolean {
  return kind !== 'reserved' && kind !== 'resumed' && kind !== 'incomparable' && kind !== 'new'
}

export function reservationOf<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  { claimId, current }: Asking,
  onNew: Reservation['onNew'],
): Reservation {
  const { scope, key, policy } = guarded
  return {
    scope,
    key,
    claimId,
    fingerprints: [current],
    operation: policy.name,
    leaseMs: policy.leaseMs,
    retentionMs: policy.retentionMs,
    tombstoneMs: policy.tombstoneMs,
    onLeaseOver: policy.onCrash === 'retry' ? 'resume' : 'doubt',
    onExpired: policy.onExpired,
    onNew,
    progress: beginningOf(context, guarded),
    trace: guarded.trace,
  }
}

/** What an operation begins with; of another handler nothing is kept before its first phase. */
function beginningOf<Tx>({ progress }: Context<Tx>, guarded: Guarded<Tx>): Uint8Array | undefined {
  const { input, policy } = guarded
  return input === undefined ? undefined : progress.encode({ version: policy.version, input, phases: [] }, guarded)
}

function unknownRecipe(recipe: string): HapaxError {
  return new HapaxError(
    'fingerprint_recipe_unknown',
    `The stored fingerprint was made by recipe "${recipe}", which this release cannot make. Finish the deploy, or list the former recipe in the policy.`,
  )
}
