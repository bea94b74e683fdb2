import { type DeadLetter, type DeadLetters, deadLetters } from '../effects/dead-letters.js'
import { deedOf, type EffectWord } from '../effects/judging.js'
import { subjectOf } from '../effects/surroundings.js'
import type { Actor } from '../engine/audit-store.js'
import { subjectOfEffect } from '../engine/deeds.js'
import type { EffectState, StoredEffect } from '../engine/effect-store.js'
import type { Engine } from '../engine/engine.js'
import { tooEarly } from '../engine/operating.js'
import { adminBounds, effectBounds } from '../kernel/limits.js'
import { type Counts, countsOf } from './counts.js'
import { lookoutOf } from './effect-looking.js'
import { type EffectStory, effectSentences } from './effect-story.js'
import { effectsWithin, narrowed, type SeenEffects, type Tenants } from './effects-within.js'
import { type Listed, listed, type Paged, refusingPlaces, sizeOf } from './paging.js'
import { entriesOf, Refused } from './refused.js'
import { type AuditView, auditView, type EffectView, effectView, saidView } from './views.js'

export interface DeadLetterView extends EffectView {
  readonly age_ms: number
  readonly redrive: DeadLetter['plan']
}

export interface RedriveQuery {
  readonly ids?: readonly number[]
  readonly kind?: string
  readonly tenant?: string
  readonly acknowledge?: 'may_run_twice'
}

/** What came of a redrive or a discard. */
export interface Changed {
  readonly effects: readonly (DeadLetterView & { readonly changed: boolean })[]
  /** Those of the ids that are not dead, or not there. */
  readonly not_dead: readonly number[]
}

/** A doubt about an effect that somebody has settled, as it was written down. */
export interface EffectDone {
  readonly effect: EffectView
  readonly audit: readonly AuditView[]
}

/** What operators do with effects. */
export interface EffectDesk {
  effects(query: { readonly state?: EffectState } & LetterQuery): Promise<Listed<EffectView>>
  effectStory(id: number): Promise<EffectStory>
  /** Ends the doubt about an effect by a person's word, by the rules that hold for every evidence. */
  settleEffect(id: number, word: EffectWord, by: Actor): Promise<EffectDone>
  /** Has one doubt looked at now: by what others said, and by asking its provider. */
  reconcileEffect(id: number, by: Actor): Promise<EffectDone & { readonly came: Counts }>
  deadLetters(query: LetterQuery): Promise<Listed<DeadLetterView>>
  previewRedrive(query: RedriveQuery): Promise<Changed>
  redrive(query: RedriveQuery, by: Actor): Promise<Changed>
  discard(ids: readonly number[], by: Actor): Promise<Changed>
  /** The same for who may look at these tenants alone: what is of others is not there. */
  within(tenants: readonly string[]): EffectDesk
}

/** Which effects to show: of a kind, of a tenant. */
export interface LetterQuery extends Paged {
  readonly kind?: string
  readonly tenant?: string
}

export function effectDesk<Tx>(hapax: Engine<Tx>, tenants: Tenants = 'every tenant'): EffectDesk {
  const { operating, calls, effects: known = { kinds: new Map() }, clock, events, log } = hapax

  function outbox(tenant?: string): SeenEffects {
    if (hapax.outbox === undefined) throw new Refused('unsupported', 'This store keeps no effects.')
    return effectsWithin(hapax.outbox, narrowed(tenants, tenant))
  }

  function kindOf({ kind }: StoredEffect) {
    const found = known.kinds.get(kind)
    if (found === undefined) throw new Refused('kind_unknown')
    return found
  }

  async function inDoubt(id: number): Promise<StoredEffect> {
    const effect = await found(id)
    if (effect.state !== 'unknown') throw new Refused('not_in_doubt', `The effect is ${effect.state}.`)
    return effect
  }

  async function found(id: number): Promise<StoredEffect> {
    const effect = await outbox().find(id)
    if (effect === undefined) throw new Refused('absent', 'There is no such effect.')
    return effect
  }

  /** Whatever the letters change is written down in the same commit. */
  function letters(by: Actor, tenant?: string): DeadLetters {
    const rows = outbox(tenant)
    const audited = async (deed: Parameters<typeof operating.act>[0]): Promise<readonly StoredEffect[]> => {
      const acted = entriesOf(await operating.act(deed, by), 'effect')
      const changed = await Promise.all(acted.map(({ subject }) => rows.find(Number(subject.split(':')[1]))))
      return changed.filter((effect) => effect !== undefined)
    }
    const store = {
      list: rows.list.bind(rows),
      find: rows.find.bind(rows),
      redrive: (ids: readonly number[], keyMemory?: 'anew') =>
        audited({ kind: 'redrive', ids, ...(keyMemory && { keyMemory }) }),
      discard: (ids: readonly number[]) => audited({ kind: 'discard', ids }),
    }
    return deadLetters({ store, ...(calls !== undefined && { calls }), effects: known, clock, events })
  }

  async function redriven({ tenant, ...query }: RedriveQuery, mode: 'preview' | 'apply', by: Actor): Promise<Changed> {
    if (query.ids === undefined && query.kind === undefined)
      throw new Refused('invalid', 'Say which: give ids, or a kind.')
    const driven = await letters(by, tenant).redrive({ mode, ...query })
    const effects = driven.map(({ redriven: changed, ...letter }) => ({ ...letterView(letter), changed }))
    return { effects, not_dead: missingOf(query.ids, effects) }
  }

  return {
    async effects({ limit, tenant, ...query }) {
      const asked = { ...query, limit: sizeOf(limit) }
      const { effects, next } = await refusingPlaces(() => outbox(tenant).list(asked))
      return listed(effects.map(effectView), next)
    },
    async effectStory(id) {
      const effect = await found(id)
      const said = (await calls?.testimonies([effect.downstreamKey])) ?? []
      const done = await operating.audit?.list({ subject: subjectOfEffect(id), limit: adminBounds.largestPage })
      const told = {
        effect: effectView(effect),
        said: said.map(saidView),
        operator_actions: (done?.entries ?? []).map(auditView),
      }
      return { ...told, sentences: effectSentences(told, known.kinds.get(effect.kind)) }
    },
    async settleEffect(id, word, by) {
      const effect = await inDoubt(id)
      const deed = deedOf(effect, kindOf(effect), word, by.who, log)
      if (deed === 'result_missing') throw new Refused(deed)
      const acted = tooEarly(deed.notBefore, clock) ?? (await operating.act(deed, by))
      const entries = entriesOf(acted, 'effect')
      events.emit('effect_reconciled', () => ({ ...subjectOf(effect), says: word.says, by: by.who }))
      return { effect: effectView(await found(id)), audit: entries.map(auditView) }
    },
    async reconcileEffect(id, by) {
      const seen = await inDoubt(id)
      kindOf(seen)
      const lookout = lookoutOf(hapax)
      if (lookout === undefined) throw new Refused('kind_unknown')
      const entries = entriesOf(await operating.act(lookout.lookOf(seen), by), 'effect')
      const came = countsOf([await lookout.one(await found(id))])
      return { came, effect: effectView(await found(id)), audit: entries.map(auditView) }
    },
    async deadLetters({ limit, tenant, ...query }) {
      const size = Math.min(sizeOf(limit), effectBounds.deadLetters)
      const page = await refusingPlaces(() => letters(nobody, tenant).list({ ...query, limit: size }))
      return listed(page.letters.map(letterView), page.next)
    },
    previewRedrive: (query) => redriven(query, 'preview', nobody),
    redrive: (query, by) => redriven(query, 'apply', by),
    async discard(ids, by) {
      const shown = await letters(nobody).redrive({ mode: 'preview', ids })
      const own = shown.map(({ effect }) => effect.id)
      const ended = own.length === 0 ? [] : await letters(by).discard(own, by.why)
      const effects = shown.map(({ redriven: _, ...letter }) => ({
        ...letterView(letter),
        changed: ended.some(({ id }) => id === letter.effect.id),
      }))
      return { effects, not_dead: missingOf(ids, effects) }
    },
    within: (others) =>
      effectDesk(hapax, tenants === 'every tenant' ? others : others.filter((one) => tenants.includes(one))),
  }
}

/** Who only looks. */
const nobody: Actor = { who: '', why: '' }

function letterView({ effect, ageMs, plan }: DeadLetter): DeadLetterView {
  return { ...effectView(effect), age_ms: ageMs, redrive: plan }
}

function missingOf(ids: readonly number[] | undefined, effects: readonly { readonly id: number }[]): readonly number[] {
  return (ids ?? []).filter((id) => !effects.some((effect) => effect.id === id))
}
