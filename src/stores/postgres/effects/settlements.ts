import type { EffectClaim, EffectOutcome, EffectResult, EffectSettlement } from '../../../engine/effect-store.js'
import type { SqlValue } from '../../sql/row.js'
import { arrayOf } from '../array.js'
import type { Row } from '../connections.js'

/** What the statements that end claims are given, and what their rows say. */

export function ofSettlements(settlements: readonly EffectSettlement[]): readonly string[] {
  const rows = settlements.map(({ claim, outcome }) => [claim.id, claim.fence, outcome.kind, ...toldBy(outcome)])
  const [first = []] = rows
  return first.map((_, index) => arrayOf(rows.map((row) => row[index] ?? null)))
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
