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
  readonly at: number
}

/** Every call and every effect that we know of, a page at a time. */
export async function* oursIn<Tx>({ calls, outbox }: Pick<Engine<Tx>, 'calls' | 'outbox'>): AsyncGenerator<OurEntry> {
  if (calls !== undefined) for await (const page of paged(calls.list)) yield* page.calls.map(callEntry)
  if (outbox !== undefined) for await (const page of paged(outbox.list)) yield* page.effects.map(effectEntry)
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
  return { of: 'call', key, scope, operation, name: phase, state, says, at: begunAt }
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
  const { downstreamKey: key, scope, operation, kind, state, firstStartedAt, createdAt } = effect
  return {
    of: 'effect',
    key,
    scope,
    operation,
    name: kind,
    state,
    says: effectSays[state],
    at: firstStartedAt ?? createdAt,
  }
}
