import type { EffectPage, EffectQuery, EffectStore, StoredEffect } from '../engine/effect-store.js'
import { ensurePlace, isPlaceText, placeParts, placeText } from '../engine/page-place.js'
import { scopeOf } from '../engine/scope.js'
import { tenantOf } from '../engine/tenant.js'
import { adminBounds } from '../kernel/limits.js'

/** Where somebody may look. */
export type Tenants = 'every tenant' | readonly string[]

/** The outbox as its reader sees it. */
export type SeenEffects = Pick<EffectStore<unknown>, 'list' | 'find'>

/** The outbox for who may look at some tenants: what is of others is not there, and no page passes by it. */
export function effectsWithin(outbox: SeenEffects, tenants: Tenants): SeenEffects {
  if (tenants === 'every tenant') return outbox
  const turns = [...new Set<string>(tenants.map(scopeOf))].sort()
  return {
    list: (query) => listedInTurn(outbox, turns, query),
    async find(id) {
      const effect = await outbox.find(id)
      return effect !== undefined && turns.includes(tenantOf(effect.scope)) ? effect : undefined
    },
  }
}

/** Of these, the one that is asked for; of one that is not among them there is nothing. */
export function narrowed(tenants: Tenants, tenant: string | undefined): Tenants {
  if (tenant === undefined) return tenants
  return tenants === 'every tenant' || tenants.includes(tenant) ? [tenant] : []
}

/** One tenant after another, each on its index, and so many to a page: who may look at a thousand of them pages on. */
async function listedInTurn(
  outbox: SeenEffects,
  turns: readonly string[],
  { after, limit, ...query }: EffectQuery,
): Promise<EffectPage> {
  const begin = after === undefined ? undefined : turnIn(after)
  const left = turns.filter((tenant) => begin === undefined || tenant >= begin.tenant)
  const effects: StoredEffect[] = []
  let asked = 0
  for (const tenant of left) {
    if (effects.length === limit || asked++ === adminBounds.tenantsAsked) return { effects, next: turnText({ tenant }) }
    const place = tenant === begin?.tenant ? begin.after : undefined
    const rest = { ...query, tenant, limit: limit - effects.length, ...(place !== undefined && { after: place }) }
    const page = await outbox.list(rest)
    effects.push(...page.effects)
    if (page.next !== undefined) return { effects, next: turnText({ tenant, after: page.next }) }
  }
  return { effects, next: undefined }
}

/** Whose turn it is, and from where on. */
interface Turn {
  readonly tenant: string
  readonly after?: string | undefined
}

function turnText({ tenant, after }: Turn): string {
  return placeText([tenant, after])
}

function turnIn(text: string): Turn {
  const [tenant, after] = placeParts(text)
  ensurePlace(isPlaceText(tenant) && (after === undefined || after === null || isPlaceText(after)))
  return { tenant, after: after ?? undefined }
}
