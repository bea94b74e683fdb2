import type { EffectStory } from '../admin/effect-story.js'
import type { EffectView } from '../admin/views.js'
import { systemClock } from '../kernel/clock.js'
import { ago } from './ago.js'
import { factsText } from './facts.js'
import { pageText } from './pages.js'
import { painted } from './paint.js'
import { table } from './table.js'

/** Effects, for people. Payloads are never printed: they may hold what nobody should see in a terminal. */

export function effectsText(effects: readonly EffectView[], next: string | undefined): string {
  const now = systemClock.now()
  const rows = effects.map(({ id, doubted_at, created_at, kind, scope, error_code = '', state }) => [
    String(id),
    ago(doubted_at ?? created_at, now),
    scope,
    kind,
    error_code,
    painted(state),
  ])
  const heads = ['effect', 'age', 'scope', 'kind', 'error', 'state']
  const lines = effects.length === 0 ? [] : table(heads, rows, process.stdout.columns)
  return pageText(lines, next, { none: 'No effect was found.', flag: '--effects-after' })
}

export function effectText({ effect, sentences }: EffectStory): string {
  const { id, kind, scope, operation, state, downstream_key } = effect
  return factsText(
    [
      ['effect', `${id} ${kind}`],
      ['scope', scope],
      ['operation', operation],
      ['state', painted(state)],
      ['sent as', downstream_key],
    ],
    sentences,
  )
}
