import type { CallStore, KeptTestimony } from '../engine/call-store.js'
import type { Effects } from '../engine/effect-definition.js'
import type { EffectStore, StoredEffect } from '../engine/effect-store.js'
import { stepsInTime } from '../engine/in-time.js'
import { storeFailures } from '../engine/store-failures.js'
import { type Clock, systemClock } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { type Emitter, emitter } from '../kernel/events.js'
import { effectBounds } from '../kernel/limits.js'
import { consoleLog } from '../kernel/log.js'
import { isForgotten } from './deciding.js'
import { judged, testified, toldToHaveLanded } from './evidence.js'
import { subjectOf } from './surroundings.js'
import { wordsOf } from './words.js'

export interface DeadLetterOptions<Tx> {
  readonly store: Pick<EffectStore<Tx>, 'list' | 'find' | 'redrive' | 'discard'>
  /** What webhooks and people said about effects: `store.calls`. What they said to have landed is not called again. */
  readonly calls?: Pick<CallStore, 'testimonies'>
  readonly effects: Effects<unknown, Tx>
  readonly clock?: Clock
  readonly events?: Emitter
}

/** What a redrive does with a dead effect. */
export type RedrivePlan =
  /** Its result is durable, or somebody said that it landed: only what follows from it is done again. */
  | { readonly kind: 'apply' }
  /** The provider has not done it, or still knows its key. */
  | { readonly kind: 'call' }
  /** The provider may have done it, and has forgotten its key. */
  | { readonly kind: 'call_twice' }
  | { readonly kind: 'refused'; readonly why: 'key_forgotten' | 'result_unknown' | 'kind_unknown' }

export interface DeadLetter {
  readonly effect: StoredEffect
  readonly ageMs: number
  readonly plan: RedrivePlan
}

export interface DeadLetterPage {
  readonly letters: readonly DeadLetter[]
  readonly next: string | undefined
}

export interface RedriveRequest {
  /** `preview` changes nothing and says what `apply` would do. */
  readonly mode: 'preview' | 'apply'
  readonly kind?: string
  readonly ids?: readonly number[]
  /** With `ids`: they may be carried out a second time. */
  readonly acknowledge?: 'may_run_twice'
}

export interface DeadLetters {
  list(query?: { readonly kind?: string; readonly limit?: number; readonly after?: string }): Promise<DeadLetterPage>
  /**
   * Has dead effects carried out again, with the same downstream key. Gives each that it looked at; of many, the first that
   * can be redriven and the first that cannot.
   */
  redrive(request: RedriveRequest): Promise<readonly (DeadLetter & { readonly redriven: boolean })[]>
  /** Ends dead effects for good. Gives those that it ended. */
  discard(ids: readonly number[], why: string): Promise<readonly StoredEffect[]>
}

/** Effects that nobody tries any more, for a person to decide about. They keep everything. */
export function deadLetters<Tx>({ store, effects, clock = systemClock, ...given }: DeadLetterOptions<Tx>): DeadLetters {
  const log = consoleLog
  const events = given.events ?? emitter(log)
  const words = wordsOf(given.calls, stepsInTime(clock, storeFailures(events, log, clock)))

  async function lettersOf(dead: readonly StoredEffect[], request?: RedriveRequest): Promise<readonly DeadLetter[]> {
    const said = await words.about(dead.filter(({ result }) => result === undefined))
    return dead.map((effect) => ({
      effect,
      ageMs: clock.now() - effect.createdAt,
      plan: planOf(effect, said, request),
    }))
  }

  /** The times are of the store's clock; what is a little wrong here is judged again when the effect is claimed. */
  function planOf(effect: StoredEffect, said: readonly KeptTestimony[], request?: RedriveRequest): RedrivePlan {
    const { result, firstStartedAt } = effect
    const kind = effects.kinds.get(effect.kind)
    if (kind === undefined) return { kind: 'refused', why: 'kind_unknown' }
    if (result !== undefined) return { kind: 'apply' }
    if (firstStartedAt === undefined || !isForgotten(kind, clock.now() - firstStartedAt)) return { kind: 'call' }
    if (judged(log, () => testified(effect, kind, said, { clock, log }))?.kind === 'landed') return { kind: 'apply' }
    const isHonoured = kind.honoursKeyMs !== undefined
    const isNamed = request?.ids !== undefined && request.acknowledge === 'may_run_twice'
    if (isHonoured && isNamed) return { kind: 'call_twice' }
    if (toldToHaveLanded(effect, said) === 'landed') return { kind: 'refused', why: 'result_unknown' }
    // Where keys are not honoured, what may have been done is never dead but in doubt.
    return isHonoured ? { kind: 'refused', why: 'key_forgotten' } : { kind: 'call' }
  }

  async function named(ids: readonly number[], request: RedriveRequest): Promise<readonly DeadLetter[]> {
    const { kind } = request
    const found = await Promise.all(checked(ids).map((id) => store.find(id)))
    const dead = found.filter(
      (effect) => effect?.state === 'dead' && (kind === undefined || effect.kind === kind),
    ) as StoredEffect[]
    return lettersOf(dead, request)
  }

  /** Looks on behind those that are refused: they stay dead, and must not hide for ever what can be redriven. */
  async function found(request: RedriveRequest): Promise<readonly DeadLetter[]> {
    const { kind } = request
    const limit = effectBounds.deadLetters
    const letters: DeadLetter[] = []
    const left = { redriven: limit, refused: limit }
    let after: string | undefined
    for (let page = 0; page < effectBounds.redrivePages; page++) {
      const query = {
        state: 'dead' as const,
        limit,
        ...(kind !== undefined && { kind }),
        ...(after !== undefined && { after }),
      }
      const { effects: dead, next } = await store.list(query)
      for (const letter of await lettersOf(dead, request)) {
        if (left[letter.plan.kind === 'refused' ? 'refused' : 'redriven']-- > 0) letters.push(letter)
      }
      if (next === undefined || left.redriven <= 0) break
      after = next
    }
    return letters
  }

  async function driven(letters: readonly DeadLetter[], kinds: readonly RedrivePlan['kind'][], memory?: 'anew') {
    const ids = letters.filter(({ plan }) => kinds.includes(plan.kind)).map(({ effect }) => effect.id)
    const changed = ids.length === 0 ? [] : await store.redrive(ids, memory)
    for (const effect of changed) events.emit('effect_redriven', () => subjectOf(effect))
    return changed.map(({ id }) => id)
  }

  return {
    async list({ limit = effectBounds.deadLetters, ...query } = {}) {
      const { effects: dead, next } = await store.list({ state: 'dead', limit, ...query })
      return { letters: await lettersOf(dead), next }
    },
    async redrive(request) {
      const letters = request.ids === undefined ? await found(request) : await named(request.ids, request)
      if (request.mode === 'preview') return letters.map((letter) => ({ ...letter, redriven: false }))
      const ids = new Set([
        ...(await driven(letters, ['apply', 'call'])),
        ...(await driven(letters, ['call_twice'], 'anew')),
      ])
      return letters.map((letter) => ({ ...letter, redriven: ids.has(letter.effect.id) }))
    },
    async discard(ids, why) {
      if (why.trim() === '') throw new HapaxError('policy_invalid', 'Say why these effects are discarded.')
      const ended = await store.discard(checked(ids))
      for (const effect of ended) events.emit('effect_discarded', () => ({ ...subjectOf(effect), why }))
      return ended
    },
  }
}

function checked(ids: readonly number[]): readonly number[] {
  if (ids.length <= effectBounds.deadLetters) return ids
  const message = `At most ${effectBounds.deadLetters} effects at once; ${ids.length} were named.`
  throw new HapaxError('policy_invalid', message)
}
