import { type DeadLetter, type DeadLetters, deadLetters } from '../effects/dead-letters.js'
import { deedOf, type EffectWord } from '../effects/judging.js'
import { subjectOf } from '../effects/surroundings.js'
import type { Actor } from '../engine/audit-store.js'
import { subjectOfEffect } from '../engine/deeds.js'
import type { EffectState, StoredEffect } from '../engine/effect-store.js'
import type { Engine } from '../engine/engine.js'
import { tooEarly } from '../engine/operating.js'
import { adminBounds, effectBounds } from '../kernel/limits.js'
import { type EffectStory, effectSentences } from './effect-story.js'
import { type Listed, listed, type Paged, sizeOf } from './paging.js'
import { entriesOf, Refused } from './refused.js'
import { type AuditView, auditView, type EffectView, effectView, saidView } from './views.js'

export interface DeadLetterView extends EffectView {
  readonly age_ms: number
  readonly redrive: DeadLetter['plan']
}

export interface RedriveQuery {
  readonly ids?: readonly number[]
  readonly kind?: string
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
  effects(query: { readonly state?: EffectState; readonly kind?: string } & Paged): Promise<Listed<EffectView>>
  effectStory(id: number): Promise<EffectStory>
  /** Ends the doubt about an effect by a person's word, by the rules that hold for every evidence. */
  settleEffect(id: number, word: EffectWord, by: Actor): Promise<EffectDone>
  deadLetters(query: { readonly kind?: string } & Paged): Promise<Listed<DeadLetterView>>
  previewRedrive(query: RedriveQuery): Promise<Changed>
  redrive(query: RedriveQuery, by: Actor): Promise<Changed>
  discard(ids: readonly number[], by: Actor): Promise<Changed>
}

export function effectDesk<Tx>(hapax: Engine<Tx>): EffectDesk {
  const { operating, calls, effects: known = { kinds: new Map() }, clock, events, log } = hapax

  function outbox() {
    if (hapax.outbox === undefined) throw new Refused('unsupported', 'This store keeps no effects.')
    return hapax.outbox
  }

  async function found(id: number): Promise<StoredEffect> {
    const effect = await outbox().find(id)
    if (effect === undefined) throw new Refused('absent', 'There is no such effect.')
    return effect
  }

  /** Whatever the letters change is written down in the same commit. */
  function letters(by: Actor): DeadLetters {
    const rows = outbox()
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

  async function redriven(query: RedriveQuery, mode: 'preview' | 'apply', by: Actor): Promise<Changed> {
    if (query.ids === undefined && query.kind === undefined)
      throw new Refused('invalid', 'Say which: give ids, or a kind.')
    const driven = await letters(by).redrive({ mode, ...query })
    const effects = driven.map(({ redriven: changed, ...letter }) => ({ ...letterView(letter), changed }))
    return { effects, not_dead: missingOf(query.ids, effects) }
  }

  return {
    async effects({ limit, ...query }) {
      const { effects, next } = await outbox().list({ ...query, limit: sizeOf(limit) })
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
      const effect = await found(id)
      if (effect.state !== 'unknown') throw new Refused('not_in_doubt', `The effect is ${effect.state}.`)
      const kind = known.kinds.get(effect.kind)
      if (kind === undefined) throw new Refused('kind_unknown')
      const deed = deedOf(effect, kind, word, by.who, log)
      if (deed === 'result_missing') throw new Refused(deed)
      const acted = tooEarly(deed.notBefore, clock) ?? (await operating.act(deed, by))
      const entries = entriesOf(acted, 'effect')
      events.emit('effect_reconciled', () => ({ ...subjectOf(effect), says: word.says, by: by.who }))
      return { effect: effectView(await found(id)), audit: entries.map(auditView) }
    },
    async deadLetters({ limit, ...query }) {
      const size = Math.min(sizeOf(limit), effectBounds.deadLetters)
      const page = await letters(nobody).list({ ...query, limit: size })
      return listed(page.letters.map(letterView), page.next)
    },
    previewRedrive: (query) => redriven(query, 'preview', nobody),
    redrive: (query, by) => redriven(query, 'apply', by),
    async discard(ids, by) {
      const shown = await letters(nobody).redrive({ mode: 'preview', ids })
      const ended = await letters(by).discard(ids, by.why)
      const effects = shown.map(({ redriven: _, ...letter }) => ({
        ...letterView(letter),
        changed: ended.some(({ id }) => id === letter.effect.id),
      }))
      return { effects, not_dead: missingOf(ids, effects) }
    },
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
