import { passing } from '../kernel/crash-points.js'
import { isHapaxError } from '../kernel/errors.js'
import type { KeptTestimony } from './call-store.js'
import type { Context } from './context.js'
import { byHandedOut } from './handed-out.js'
import { leave, type Reconciled } from './leaving.js'
import type { Looked } from './looking.js'
import type { OpenCall, Progress } from './progress.js'
import type { Evidence, RecordName, StoredRecord } from './record.js'
import { saidSince } from './said.js'
import { believableAt, settleCall } from './settling.js'

/**
 * Settles a doubt by evidence that came before it, or that nobody has acted on. Whoever meets a doubt asks for this, since
 * only operations are looked at by a reconciler; nobody waits for it, and what fails here is tried by whoever comes next.
 */
export async function consult<Tx>(context: Context<Tx>, name: RecordName): Promise<void> {
  try {
    const record = await context.store.find(name)
    if (record?.state === 'unknown' && record.progress !== undefined) await reconcileTold(context, record)
  } catch {
    // The store fails: the doubt stands.
  }
}

/** What came of evidence: `ask` where it has landed, and the provider has to be asked for what it returned. */
export type Told = Reconciled | 'ask' | undefined

/** Settles a doubt by what somebody has said about its call. `undefined` when that is nothing, or not enough. */
export async function reconcileTold<Tx>(context: Context<Tx>, record: StoredRecord): Promise<Told> {
  const progress = progressOf(context, record)
  return progress === undefined || progress === 'unreadable' ? undefined : byTestimony(context, record, progress)
}

/**
 * "Not landed" counts if it is said late enough: said earlier, it does not come true by waiting. "Landed" counts whenever it
 * is said, but a handler that needs what the call returned goes on only with that.
 */
export async function byTestimony<Tx>(context: Context<Tx>, record: StoredRecord, progress: Progress): Promise<Told> {
  const { call, handedOut } = progress
  if (call === undefined) return handedOut && byHandedOut(context, record, handedOut)
  const said = await saidSince(context, call.key)
  const landed = landedAmong(said, context, record)
  if (landed?.kind === 'bare' && call.needsResult !== false) {
    // Of a handler that is no operation, there is nobody who could ask.
    const canAsk = call.canLookUp && progress.input !== undefined
    return canAsk ? 'ask' : leave(context, record, resultMissing)
  }
  const result = landed?.kind === 'landed' ? landed.result : undefined
  if (landed !== undefined) return believe(context, record, progress, { kind: 'landed', result }, landed.evidence)
  const from = believableAt(record, progress)
  const not = said.findLast(({ says, at }) => says === 'not_landed' && Math.min(at, context.clock.now()) >= from)
  return not && believe(context, record, progress, { kind: 'not_landed' }, { by: not.by, why: not.why })
}

/** The word for an operator: it has landed, and what it returned has to be found out and testified. */
export const resultMissing = 'result_missing'

/** That a call landed, as somebody said: with what it returned, or without. */
type Landed = { readonly evidence: Evidence } & (
  | { readonly kind: 'landed'; readonly result: unknown }
  | { readonly kind: 'bare' }
)

export async function landedIn<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  call: OpenCall,
): Promise<Landed | undefined> {
  return landedAmong(await saidSince(context, call.key), context, record)
}

function landedAmong<Tx>(
  said: readonly KeptTestimony[],
  context: Context<Tx>,
  record: StoredRecord,
): Landed | undefined {
  const landed = said.filter(({ says }) => says === 'landed')
  const full = landed.findLast(({ result }) => result !== undefined)
  const last = full ?? landed.at(-1)
  if (last === undefined) return undefined
  const evidence = { by: last.by, why: last.why }
  try {
    if (last.result !== undefined)
      return { kind: 'landed', result: context.progress.resultIn(last.result, record), evidence }
  } catch {
    // It has landed, but what it gave cannot be read.
  }
  return { kind: 'bare', evidence }
}

/** Settles by what is certain. `undefined` when nothing is. */
export async function believe<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  progress: Progress,
  looked: Looked,
  evidence: Evidence,
): Promise<Reconciled | undefined> {
  if (looked.kind !== 'landed' && looked.kind !== 'not_landed') return undefined
  try {
    await settleCall(context, record, progress, looked, evidence)
  } catch (error) {
    // A result that cannot be kept will not be smaller at the next look.
    if (isHapaxError(error) && !error.retryable) return leave(context, record, error.code)
    throw error
  }
  passing('reconciler.settled')
  return 'settled'
}

export function progressOf<Tx>({ progress }: Context<Tx>, record: StoredRecord): Progress | 'unreadable' | undefined {
  try {
    return progress.decode(record)
  } catch {
    return 'unreadable'
  }
}
