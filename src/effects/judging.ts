import type { ResolveDeed } from '../engine/audit-store.js'
import type { EffectKind } from '../engine/effect-definition.js'
import type { StoredEffect } from '../engine/effect-store.js'
import { suppliedBy } from '../engine/supplied.js'
import { testimonyOf } from '../engine/testimony.js'
import type { Log } from '../kernel/log.js'
import { countsFrom } from './evidence.js'
import { packed } from './packed.js'

/** What a person says of an effect that is in doubt, and on what grounds. */
export type EffectWord = { readonly evidence: string } & (
  | { readonly says: 'landed'; readonly result?: unknown }
  | { readonly says: 'not_landed' }
)

/**
 * What a person's word does to an effect in doubt, by the rules that hold for every evidence: "landed" counts at any time,
 * with what the call returned where something follows from it; "not landed" only once a worker that was slow cannot send any
 * more, and its provider shows what it has done.
 */
export function deedOf(
  effect: StoredEffect,
  kind: EffectKind,
  word: EffectWord,
  by: string,
  log: Log,
): ResolveDeed | 'result_missing' {
  const { id, fence, downstreamKey } = effect
  const { evidence: why, ...said } = word
  const testimony = testimonyOf({ downstreamKey, ...said, by, why })
  const deed = { kind: 'resolve', claim: { id, fence }, said: testimony, supplied: suppliedBy(word) } as const
  if (word.says === 'not_landed')
    return { ...deed, evidence: { kind: 'not_landed' }, notBefore: countsFrom(effect, kind) }
  if (word.result !== undefined) return { ...deed, evidence: { kind: 'landed', ...packed(kind, word.result, log) } }
  if (kind.apply !== undefined) return 'result_missing'
  return { ...deed, evidence: { kind: 'landed', result: new Uint8Array(), providerId: undefined } }
}
