import type { StoredAnswer } from '../engine/record.js'
import { ensure, type Operator, type Permission } from './authorize.js'
import { tenantIn } from './endpoint.js'
import { isRefused } from './refused.js'

/**
 * Whether what came of a write may be told again: to who may do it by now in every tenant that it was about, and not to who
 * could do it once.
 */
export function mayBeToldAgain(operator: Operator, permission: Permission, stored: StoredAnswer): boolean {
  // Nothing of it is told.
  if (stored.kind === 'withheld') return true
  try {
    for (const scope of scopesIn(JSON.parse(new TextDecoder().decode(stored.body)) as Came))
      ensure(operator, permission, scope === '' ? undefined : tenantIn(scope))
    return true
  } catch (error) {
    if (isRefused(error)) return false
    throw error
  }
}

/** What a write answers with, as far as it says whose it was. */
interface Came {
  readonly record?: Scoped
  readonly effect?: Scoped
  readonly effects?: readonly Scoped[]
  readonly audit?: readonly Scoped[]
}

interface Scoped {
  readonly scope: string
}

/** Whose it was; what does not say so was about all of them, as is an entry of the log without a scope. */
function scopesIn({ record, effect, effects, audit }: Came): readonly string[] {
  const about = [record, effect, effects, audit].filter((one) => one !== undefined).flat()
  const isSaid = about.length > 0 || effects !== undefined
  return isSaid ? about.map(({ scope }) => scope) : ['']
}
