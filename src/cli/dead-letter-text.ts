import type { DeadLetter, DeadLetterPage, RedrivePlan } from '../effects/dead-letters.js'
import type { StoredEffect } from '../engine/effect-store.js'
import { effectBounds } from '../kernel/limits.js'
import { table } from './table.js'

/** Dead effects, for people and for scripts. Payloads are never printed: they may hold what nobody should see in a terminal. */

type Redriven = DeadLetter & { readonly redriven: boolean }
/** Whether something was changed, or only shown. */
type Mode = 'done' | 'shown'

export function deadText({ letters, next }: DeadLetterPage): string {
  if (letters.length === 0) return 'No effect is dead.'
  const more = next === undefined ? [] : [`\nThere are more: --after ${next}`]
  return [...lettersTable(letters, ({ plan }) => planned(plan)), ...more].join('\n')
}

export function deadJson({ letters, next }: DeadLetterPage): string {
  return JSON.stringify({ dead: letters.map(asObject), next })
}

export function redriveText(letters: readonly Redriven[], missing: readonly number[], mode: Mode): string {
  const said = ({ plan, redriven }: Redriven) =>
    redriven || mode === 'shown' || plan.kind === 'refused' ? planned(plan) : 'not dead any more'
  const count = letters.filter(({ plan, redriven }) => (mode === 'done' ? redriven : plan.kind !== 'refused')).length
  const isFull = letters.filter(({ plan }) => plan.kind !== 'refused').length === effectBounds.deadLetters
  const full = isFull ? ' There may be more: do it again afterwards.' : ''
  const sum =
    mode === 'done' ? `${count} redriven.${full}` : `${count} can be redriven. Nothing was changed: add --yes.`
  const shown = letters.length === 0 ? [] : [...lettersTable(letters, said), '']
  return [...shown, ...notDeadText(missing), sum].join('\n')
}

export function redriveJson(letters: readonly Redriven[], missing: readonly number[], mode: Mode): string {
  const effects = letters.map((letter) => ({ ...asObject(letter), redriven: letter.redriven }))
  return JSON.stringify({ changed: mode === 'done', effects, notDead: missing })
}

export function discardedText(effects: readonly StoredEffect[], mode: Mode): string {
  const lines = effects.map(({ id, kind, scope, errorCode }) => `  ${[id, kind, scope, errorCode].join('  ')}`)
  const sum =
    mode === 'done'
      ? `${effects.length} discarded.`
      : `${effects.length} can be discarded. Nothing was changed: add --yes.`
  return [...lines, sum].join('\n')
}

export function notDeadText(missing: readonly number[]): readonly string[] {
  return missing.length === 0 ? [] : [`Not dead, or not there: ${missing.join(', ')}.`]
}

function lettersTable<Letter extends DeadLetter>(letters: readonly Letter[], said: (letter: Letter) => string) {
  const heads = ['id', 'kind', 'scope', 'age', 'tries', 'error', 'redrive']
  const rows = letters.map((letter) => {
    const { id, kind, scope, started, errorCode = '' } = letter.effect
    return [String(id), kind, scope, age(letter.ageMs), String(started), errorCode, said(letter)]
  })
  return table(heads, rows, process.stdout.columns)
}

function planned(plan: RedrivePlan): string {
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

function asObject({ effect, ageMs, plan }: DeadLetter) {
  const { id, kind, scope, operation, phase, downstreamKey, started, errorCode, createdAt } = effect
  return { id, kind, scope, operation, phase, downstreamKey, started, errorCode, createdAt, ageMs, redrive: plan }
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** In the largest unit that it fills: people ask for hours or for days. */
function age(ms: number): string {
  const [unit, size] = units.find(([, size]) => ms >= size) ?? ['s', 1_000]
  return `${Math.floor(Math.max(0, ms) / size)}${unit}`
}
