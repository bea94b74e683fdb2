import { isHandedOut, type StoredCall } from '../engine/call-store.js'
import type { EffectState, StoredEffect } from '../engine/effect-store.js'
import type { Engine } from '../engine/engine.js'
import { limits } from '../kernel/limits.js'

/** One call or effect, as we have it. */
export interface OurEntry {
  readonly of: 'call' | 'effect'
  readonly key: string
  readonly scope: string
  readonly operation: string
  /** The phase of a call, the kind of an effect. */
  readonly name: string
  readonly state: string
  /** What that state says: it was done, it was not, nobody knows, or it is under way. */
  readonly says: 'landed' | 'not_landed' | 'open' | 'waiting'
  /** When it began, or when it was done, of an effect that is. */
  readonly at: number
  /** The provider cannot have done it before. */
  readonly begunAt: number
}

type Ours<Tx> = Pick<Engine<Tx>, 'calls' | 'outbox'>

/** From then on and before then, in milliseconds. */
export interface Window {
  readonly since: number
  readonly until: number
}

/**
 * Of the calls and effects whose time lies in a window, those that a ledger must have something to say about: all calls, and
 * of the effects those that were done or are in doubt. A page at a time, each by an index, so that what lies outside of the
 * window costs nothing, save for effects that are in doubt.
 */
export async function* oursIn<Tx>({ calls, outbox }: Ours<Tx>, window: Window): AsyncGenerator<OurEntry> {
  const since = Math.max(0, window.since)
  const { until } = window
  if (calls !== undefined) {
    const listed = paged((page) => calls.list({ since, ...(Number.isFinite(until) && { until }), ...page }))
    for await (const page of listed) yield* page.calls.map(callEntry)
  }
  if (outbox === undefined) return
  yield* doneIn(outbox, window)
  for await (const page of paged((page) => outbox.list({ state: 'unknown', ...page })))
    yield* page.effects.map(effectEntry).filter(({ at }) => at >= since && at < until)
}

/**
 * When the first of all began that belong to a window. An effect belongs to the one that it was done in, but its provider may
 * have done it at the first try, long before we heard of it.
 */
export async function firstBegunIn<Tx>({ outbox }: Ours<Tx>, window: Window): Promise<number> {
  let first = window.since
  if (outbox !== undefined) for await (const { begunAt } of doneIn(outbox, window)) first = Math.min(first, begunAt)
  return first
}

/** Those of these keys that are ours, whenever they were. */
export async function* oursNamed<Tx>({ calls, outbox }: Ours<Tx>, keys: Iterable<string>): AsyncGenerator<OurEntry> {
  for (const some of batches(keys, limits.page)) {
    yield* ((await calls?.named(some)) ?? []).map(callEntry)
    yield* ((await outbox?.named(some)) ?? []).map(effectEntry)
  }
}

async function* doneIn<Tx>(
  outbox: NonNullable<Ours<Tx>['outbox']>,
  { since, until }: Window,
): AsyncGenerator<OurEntry> {
  const from = Math.max(0, since)
  for await (const { effects } of paged((page) => outbox.done({ since: from, ...page }))) {
    const inside = effects.map(effectEntry).filter(({ at }) => at < until)
    yield* inside
    // They come in the order in which they were done.
    if (inside.length < effects.length) return
  }
}

function* batches(keys: Iterable<string>, size: number): Generator<readonly string[]> {
  let some: string[] = []
  for (const key of keys) {
    some.push(key)
    if (some.length < size) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

async function* paged<Page extends { readonly next: string | undefined }>(
  list: (query: { readonly limit: number; readonly after?: string }) => Promise<Page>,
): AsyncGenerator<Page> {
  let page = await list({ limit: limits.page })
  yield page
  while (page.next !== undefined) {
    page = await list({ limit: limits.page, after: page.next })
    yield page
  }
}

const callSays = { begun: 'open', landed: 'landed', not_landed: 'not_landed' } as const

/** Of a key that a handler was given for a call of its own, we hold nothing: whether it was sent, nobody has told us. */
function callEntry(call: StoredCall): OurEntry {
  const { key, scope, operation, phase, state, begunAt } = call
  const says = isHandedOut(call) && state === 'begun' ? 'waiting' : callSays[state]
  return { of: 'call', key, scope, operation, name: phase, state, says, at: begunAt, begunAt }
}

/** One that is dead was answered with a no, or given up; one that waits or runs may yet be done, with the same key. */
const effectSays: Readonly<Record<EffectState, OurEntry['says']>> = {
  ready: 'waiting',
  leased: 'waiting',
  done: 'landed',
  unknown: 'open',
  dead: 'not_landed',
  discarded: 'not_landed',
}

function effectEntry(effect: StoredEffect): OurEntry {
  const { downstreamKey: key, scope, operation, kind, state, createdAt, firstStartedAt, finishedAt } = effect
  const begunAt = firstStartedAt ?? createdAt
  return {
    of: 'effect',
    key,
    scope,
    operation,
    name: kind,
    state,
    says: effectSays[state],
    at: state === 'done' ? (finishedAt ?? begunAt) : begunAt,
    begunAt,
  }
}
