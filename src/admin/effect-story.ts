import type { EffectKind } from '../engine/effect-definition.js'
import { aboutSaid, coded, doneByPeople, reasonOf } from './sentences.js'
import type { AuditView, EffectView, SaidView } from './views.js'

/** All that is known of one effect, as data and as sentences. */
export interface EffectStory {
  readonly effect: EffectView
  /** What webhooks, providers and people have said about it. */
  readonly said: readonly SaidView[]
  readonly operator_actions: readonly AuditView[]
  readonly sentences: readonly string[]
}

export function effectSentences(
  { effect, said, operator_actions }: Omit<EffectStory, 'sentences'>,
  kind: EffectKind | undefined,
): readonly string[] {
  const { scope, operation, phase, tries, created_at, downstream_key } = effect
  return [
    `${operation} wrote this effect (${effect.kind}) for ${scope} at ${created_at}, in its phase ${phase}. Its downstream key is ${downstream_key}.`,
    tries === 0 ? 'Nobody has tried it yet.' : `It was claimed ${tries === 1 ? 'once' : `${tries} times`}.`,
    ...said.map(aboutSaid),
    ...standing(effect, kind),
    ...operator_actions.map(doneByPeople),
  ]
}

function standing(effect: EffectView, kind: EffectKind | undefined): readonly string[] {
  switch (effect.state) {
    case 'ready':
      return [`It waits for a worker${coded(effect.error_code)}.`]
    case 'leased':
      return ['A worker holds it.']
    case 'done':
      return [`It was done at ${effect.finished_at}.`]
    case 'discarded':
      return [`It was ended for good at ${effect.finished_at}.`]
    case 'dead':
      return [`Nobody tries it any more${coded(effect.error_code)}: redrive or discard it.`]
    case 'unknown':
      return doubt(effect, kind)
  }
}

function doubt(effect: EffectView, kind: EffectKind | undefined): readonly string[] {
  const { doubted_at, error_code = 'unknown', looks, looked_at_next, downstream_key } = effect
  const next = effect.left_to_operator
    ? 'Nobody but a person looks at it any more.'
    : `It is looked at again at ${looked_at_next}, and was ${looks} times before.`
  const result = kind?.apply === undefined ? '' : ' with what the call returned'
  const advice = `Ask the provider about ${downstream_key}, then settle it: landed${result}, or not_landed.`
  return [`Nobody knows since ${doubted_at} whether it took place: ${reasonOf(error_code)}.`, next, advice]
}
