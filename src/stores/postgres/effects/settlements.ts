import type { EffectClaim, EffectOutcome, EffectResult, EffectSettlement } from '../../../engine/effect-store.js'
import { invariant } from '../../../kernel/errors.js'
import type { SqlValue } from '../../sql/row.js'
import { arrayOf } from '../array.js'
import type { Row } from '../connections.js'

/** What the statements that end claims are given, and what their rows say. */

export function ofSettlements(settlements: readonly EffectSettlement[]): readonly string[] {
  const told = settlements.map(({ outcome }) => toldBy(outcome))
  return [
    ...ofClaims(settlements.map(({ claim }) => claim)),
    arrayOf(settlements.map(({ outcome }) => outcome.kind)),
    ...([0, 1, 2, 3] as const).map((index) => arrayOf(told.map((values) => values[index]))),
  ]
}

/** The same of those that are all done; `undefined` when one is not. */
export function ofDone(settlements: readonly EffectSettlement[]): readonly string[] | undefined {
  const results: EffectResult[] = []
  for (const { outcome } of settlements) {
    if (outcome.kind !== 'done') return undefined
    results.push(outcome)
  }
  return [
    ...ofClaims(settlements.map(({ claim }) => claim)),
    arrayOf(results.map(({ providerId }) => providerId ?? null)),
    arrayOf(results.map(({ result }) => result)),
  ]
}

export function ofClaims(claims: readonly EffectClaim[]): readonly [string, string] {
  return [arrayOf(claims.map(({ id }) => id)), arrayOf(claims.map(({ fence }) => fence))]
}

/** How long until it is looked at again, the error, the provider's id and what it answered. */
function toldBy(outcome: EffectOutcome): readonly [SqlValue, SqlValue, SqlValue, SqlValue] {
  switch (outcome.kind) {
    case 'done':
      return [null, null, ...ofResult(outcome)]
    case 'retry':
      return [outcome.dueInMs, outcome.errorCode, null, null]
    case 'unknown':
      return [outcome.reconcileAfterMs ?? null, outcome.errorCode, null, null]
    case 'dead':
      return [null, outcome.errorCode, null, null]
    case 'release':
      return [outcome.dueInMs ?? null, null, null, null]
  }
}

export function ofResult({ providerId, result }: EffectResult): readonly [SqlValue, SqlValue] {
  return [providerId ?? null, result]
}

/** Which of these claims the rows name. */
export function namedIn(rows: readonly Row[], claims: readonly EffectClaim[]): readonly boolean[] {
  const named = new Set(rows.map(({ id, fence }) => `${id} ${fence}`))
  return claims.map(({ id, fence }) => named.has(`${id} ${fence}`))
}

/** Which of so many settlements were written: the row names, counted from 1, those that were not. */
export function writtenBut(row: Row | undefined, count: number): readonly boolean[] {
  invariant(row !== undefined, 'a settlement gives one row')
  const written = new Array<boolean>(count).fill(true)
  for (const position of (row.refused ?? '').slice(1, -1).split(','))
    if (position !== '') written[Number(position) - 1] = false
  return written
}
