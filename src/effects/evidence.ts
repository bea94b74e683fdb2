import type { KeptTestimony } from '../engine/call-store.js'
import type { EffectKind } from '../engine/effect-definition.js'
import type { EffectEvidence, StoredEffect } from '../engine/effect-store.js'
import type { LookedUp } from '../engine/work.js'
import type { Log } from '../kernel/log.js'
import { packed, unpacked } from './packed.js'
import type { Surroundings } from './surroundings.js'

/** What ends a doubt, and who said it. */
export type SaidEvidence = { readonly by: string } & EffectEvidence

/**
 * From when on a "not landed" counts, by the store's clock and by that of whoever believes it: before, whoever held the effect
 * may still have had a call on its way, and the provider may not show yet what it has done.
 */
export function countsFrom({ doubtedAt = Number.POSITIVE_INFINITY }: StoredEffect, kind: EffectKind): number {
  return doubtedAt + kind.timeoutMs + kind.readLagMs
}

/**
 * What others said about an effect. That it landed is believed at any time, but where something follows from the result
 * only together with it; that it did not, only if it was said late enough.
 */
export function testified(
  effect: StoredEffect,
  kind: EffectKind,
  testimonies: readonly KeptTestimony[],
  { clock, log }: Pick<Surroundings<never>, 'clock' | 'log'>,
): SaidEvidence | undefined {
  const said = saidAbout(effect, testimonies)
  const landed = said.findLast(({ says, result }) => says === 'landed' && result !== undefined)
  if (landed?.result !== undefined) {
    return { kind: 'landed', by: landed.by, ...packed(kind, unpacked(landed.result), log) }
  }
  const bare = said.findLast(({ says }) => says === 'landed')
  if (bare !== undefined) {
    return kind.apply !== undefined
      ? undefined
      : { kind: 'landed', by: bare.by, result: new Uint8Array(), providerId: undefined }
  }
  const from = countsFrom(effect, kind)
  const not = said.findLast(({ says, at }) => says === 'not_landed' && Math.min(at, clock.now()) >= from)
  return not === undefined ? undefined : { kind: 'not_landed', by: not.by }
}

/** Whether somebody said that it landed, be it without what it gave. */
export function toldToHaveLanded(effect: StoredEffect, testimonies: readonly KeptTestimony[]): 'landed' | undefined {
  return saidAbout(effect, testimonies).some(({ says }) => says === 'landed') ? 'landed' : undefined
}

/** What is older than the effect was said about another one: a key that we have forgotten begins anew, with the same downstream keys. */
function saidAbout(effect: StoredEffect, testimonies: readonly KeptTestimony[]): readonly KeptTestimony[] {
  return testimonies.filter((said) => said.downstreamKey === effect.downstreamKey && said.at >= effect.createdAt)
}

/** Evidence that cannot be read is none. */
export function judged(log: Log, judge: () => SaidEvidence | undefined): SaidEvidence | undefined {
  try {
    return judge()
  } catch (error) {
    log({ level: 'error', code: 'evidence_unreadable', message: error instanceof Error ? error.message : 'no error' })
    return undefined
  }
}

/** What an answer to a question amounts to. Anything but the two answers there are is none. */
export function lookedUp(kind: EffectKind, said: unknown, log: Log): SaidEvidence | undefined {
  const { landed, result } = (said ?? {}) as Partial<NonNullable<LookedUp<unknown>> & { readonly result: unknown }>
  if (landed === true) return { kind: 'landed', by: 'lookup', ...packed(kind, result, log) }
  return landed === false ? { kind: 'not_landed', by: 'lookup' } : undefined
}
