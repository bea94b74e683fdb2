import type { EffectKind, Effects } from '../engine/effect-definition.js'
import type { StoredEffect } from '../engine/effect-store.js'
import { codeOf } from '../engine/name.js'
import { askedInTurn } from '../engine/together.js'
import { backoffMs } from '../kernel/backoff.js'
import { within } from '../kernel/clock.js'
import { passing } from '../kernel/crash-points.js'
import { backoffs, defaults, effectBounds, limits } from '../kernel/limits.js'
import { countsFrom, judged, lookedUp, type SaidEvidence, testified, toldToHaveLanded } from './evidence.js'
import { outages, type Paused } from './outages.js'
import { aboutOf } from './packed.js'
import { type EffectSurroundings, subjectOf, surroundingsOf } from './surroundings.js'

export type EffectReconcilerOptions<Tx> = EffectSurroundings<Tx>

/** What a pass did. */
export interface Reconciled {
  readonly looked: number
  readonly landed: number
  readonly notLanded: number
  /** To be looked at again. */
  readonly postponed: number
  /** For a person to find out. */
  readonly unresolved: number
}

/** What came of a look. */
export type Came = Exclude<keyof Reconciled, 'looked'>

type Begins = (effect: StoredEffect) => Promise<boolean>

export interface EffectReconciler {
  /** `begins` is told of each doubt before it is looked at; `false` leaves it alone. */
  runOnce(begins?: Begins): Promise<Reconciled>
  /** Whose providers did not answer and are left alone. */
  paused(): readonly Paused[]
  /** For how long a doubt is put off by whoever looks at it. */
  readonly holdMs: number
  /** Looks at one doubt, which its caller has put off by `holdMs` so that nobody else does. */
  look(effect: StoredEffect): Promise<Came>
}

/** Finds out about effects that are in doubt: by what others said, and by asking their providers. */
export function effectReconciler<Tx>(options: EffectReconcilerOptions<Tx>): EffectReconciler {
  const around = surroundingsOf(options)
  const { store, words, effects, clock, chance, events, log } = around
  const silent = outages(backoffs.outage, clock, chance)
  const holdMs = holdOf(effects)

  /** Kinds at the same time, and of each a few at once: a slow provider holds up nobody, and ends within the hold. */
  async function reconcileAll(found: readonly StoredEffect[], beginUntil: number, begins?: Begins) {
    const said = await words.about(found)
    const whom = ({ kind }: StoredEffect) => kind
    return askedInTurn(found, whom, async (effect): Promise<Came> => {
      const kind = effects.kinds.get(effect.kind)
      if (kind === undefined) return postpone(effect, effect.looks, 0)
      if (begins !== undefined && !(await begins(effect))) return 'postponed'
      const told = judged(log, () => testified(effect, kind, said, around))
      if (told !== undefined) return settle(effect, told)
      // Not come to in time: given back, before another node takes it while this one asks.
      if (clock.elapsed() >= beginUntil) return postpone(effect, effect.looks, 0)
      return ask(effect, kind, toldToHaveLanded(effect, said))
    })
  }

  async function ask(effect: StoredEffect, kind: EffectKind, told: 'landed' | undefined): Promise<Came> {
    const { lookup } = kind
    if (lookup === undefined) return giveUp(effect, effect.looks)
    if (silent.isOut(kind.name)) return postpone(effect, effect.looks, silent.leftMs(kind.name))
    // The store put this off by `holdMs` from its own time, so its time is known without asking for it.
    const askedAt = (effect.reconcileAfter ?? 0) - holdMs
    let said: unknown
    try {
      const late = () => new Error('The lookup took too long.')
      said = await within(
        clock,
        lookMsOf(kind),
        Promise.resolve().then(() => lookup(aboutOf(effect))),
        late,
      )
    } catch (error) {
      const pauseMs = silent.failed(kind.name)
      const message = `the provider of effect "${kind.name}" cannot be asked (${codeOf(error)}); it is left alone for a while.`
      log({ level: 'warn', code: 'lookup_failed', message })
      // An outage that does not end is none: something about this one cannot be asked.
      if (askedAt - (effect.doubtedAt ?? askedAt) > limits.doubtMs) return giveUp(effect, effect.looks)
      return postpone(effect, effect.looks, pauseMs)
    }
    passing('reconciler.asked')
    silent.answered(kind.name)
    const evidence = judged(log, () => lookedUp(kind, said, log))
    if (evidence === undefined) return lookAgain(effect)
    // Somebody has said that it landed, and only not with what: a provider that does not know of it cannot say otherwise.
    if (evidence.kind === 'not_landed' && told === 'landed') return lookAgain(effect)
    const tooEarlyMs = countsFrom(effect, kind) - Math.min(askedAt, clock.now())
    if (evidence.kind === 'not_landed' && tooEarlyMs > 0) return postpone(effect, effect.looks, tooEarlyMs)
    await keep(effect, evidence)
    return settle(effect, evidence)
  }

  /** What a provider said stays on record, also when the effect has gone on; and it is before anybody acts on it. */
  async function keep({ downstreamKey }: StoredEffect, { by, ...evidence }: SaidEvidence): Promise<void> {
    const result = evidence.kind === 'landed' && evidence.result.byteLength > 0 ? { result: evidence.result } : {}
    await words.keep({ downstreamKey, says: evidence.kind, ...result, by, why: 'its provider was asked' })
  }

  async function settle(effect: StoredEffect, evidence: SaidEvidence): Promise<Came> {
    const { by, ...says } = evidence
    // Somebody else ended the doubt: that is as good.
    if (!(await store.resolve(effect, says))) return 'postponed'
    passing('reconciler.settled')
    events.emit('effect_reconciled', () => ({ ...subjectOf(effect), says: says.kind, by }))
    return says.kind === 'landed' ? 'landed' : 'notLanded'
  }

  async function lookAgain(effect: StoredEffect): Promise<Came> {
    const looks = effect.looks + 1
    if (looks >= effectBounds.looks) return giveUp(effect, looks)
    return postpone(effect, looks, backoffMs(backoffs.looking, looks, chance))
  }

  async function postpone(effect: StoredEffect, looks: number, afterMs: number): Promise<Came> {
    await store.postpone(effect, { looks, afterMs: Math.ceil(afterMs), dueAt: effect.reconcileAfter })
    return 'postponed'
  }

  async function giveUp(effect: StoredEffect, looks: number): Promise<Came> {
    if (!(await store.postpone(effect, { looks, afterMs: undefined, dueAt: effect.reconcileAfter }))) return 'postponed'
    events.emit('effect_unresolved', () => ({ ...subjectOf(effect), looks }))
    return 'unresolved'
  }

  async function runOnce(begins?: Begins): Promise<Reconciled> {
    const kinds = [...effects.kinds.keys()].filter((kind) => !silent.isOut(kind))
    const beginUntil = clock.elapsed() + defaults.beginLooksMs
    const found = kinds.length === 0 ? [] : await store.doubts({ kinds, limit: effectBounds.doubts, holdMs })
    const ends = await reconcileAll(found, beginUntil, begins)
    const count = (end: keyof Reconciled) => ends.filter((one) => one === end).length
    return {
      looked: found.length,
      landed: count('landed'),
      notLanded: count('notLanded'),
      postponed: count('postponed'),
      unresolved: count('unresolved'),
    }
  }

  return {
    runOnce,
    paused: silent.all,
    holdMs,
    async look(effect) {
      const [came = 'postponed'] = await reconcileAll([effect], clock.elapsed() + defaults.beginLooksMs)
      return came
    },
  }
}

/** How long the doubts of a pass are kept from other nodes: as long as it may take, and no longer, since it may be killed. */
function holdOf({ kinds }: Pick<Effects, 'kinds'>): number {
  const longestMs = Math.max(...[...kinds.values()].map(lookMsOf))
  return defaults.beginLooksMs + longestMs + defaults.lookMarginMs
}

function lookMsOf({ timeoutMs }: EffectKind): number {
  return Math.min(timeoutMs, defaults.lookTimeoutMs)
}
