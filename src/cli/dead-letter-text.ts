import type { Changed, DeadLetterView } from '../admin/effect-desk.js'
import { effectBounds } from '../kernel/limits.js'
import { age } from './ago.js'
import { pageText } from './pages.js'
import { table } from './table.js'

/** Dead effects, for people. Payloads are never printed: they may hold what nobody should see in a terminal. */

export function deadText(letters: readonly DeadLetterView[], next: string | undefined): string {
  return pageText(letters.length === 0 ? [] : lettersTable(letters), next, { none: 'No effect is dead here.' })
}

/** What was changed, or would be. */
export function changedText(
  { effects, not_dead }: Changed,
  verb: 'redriven' | 'discarded',
  mode: 'done' | 'shown',
): string {
  const can = effects.filter(({ redrive }) => verb === 'discarded' || redrive.kind !== 'refused')
  const isFull = can.length === effectBounds.deadLetters
  const full = isFull ? ' There may be more: do it again afterwards.' : ''
  const sum =
    mode === 'done'
      ? `${effects.filter(({ changed }) => changed).length} ${verb}.${full}`
      : `${can.length} can be ${verb}.`
  const shown = effects.length === 0 || mode === 'done' ? [] : [...lettersTable(effects), '']
  const missing = not_dead.length === 0 ? [] : [`Not dead, or not there: ${not_dead.join(', ')}.`]
  return [...shown, ...missing, sum].join('\n')
}

function lettersTable(letters: readonly DeadLetterView[]): readonly string[] {
  const heads = ['id', 'kind', 'scope', 'age', 'tries', 'error', 'redrive']
  const rows = letters.map(({ id, kind, scope, tries, error_code = '', age_ms, redrive }) => [
    String(id),
    kind,
    scope,
    age(age_ms),
    String(tries),
    error_code,
    planned(redrive),
  ])
  return table(heads, rows, process.stdout.columns)
}

function planned(plan: DeadLetterView['redrive']): string {
  switch (plan.kind) {
    case 'apply':
      return 'only what follows from its result, which is known'
    case 'call':
      return 'called again, with the same key'
    case 'call_twice':
      return 'called again, though it may have been done: its key is forgotten'
    case 'refused':
      return refusals[plan.why]
  }
}

const refusals = {
  key_forgotten: 'refused: it may have been done, and its key is forgotten (--may-run-twice)',
  result_unknown: 'refused: somebody said that it landed, and what follows needs its result; testify that first',
  kind_unknown: 'refused: its kind is not known here, which takes the module of its application',
} as const
