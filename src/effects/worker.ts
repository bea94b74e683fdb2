import { sleep } from '../kernel/clock.js'
import { defaults, effectBounds, limits } from '../kernel/limits.js'
import { onOver, Stopping } from '../kernel/stopping.js'
import { carriedOut, type Ending, type Source } from './carrying.js'
import { crew } from './crew.js'
import { type Held, heldOf } from './held.js'
import { holding } from './holding.js'
import { lateResults } from './late.js'
import { rest } from './rest.js'
import { settling } from './settling.js'
import { sharedTimers } from './shared-timers.js'
import { subjectOf, surroundingsOf } from './surroundings.js'
import { suspects } from './suspects.js'
import { type Passed, passedOf, unwatched, type Watch } from './watch.js'
import { type EffectWorkerOptions, leaseOf, wholeNumber } from './worker-options.js'

export interface EffectWorker {
  /** One pass: takes what is due, as much as a batch holds, and carries it out. */
  runOnce(): Promise<Passed>
  /** Works until the signal aborts; then it begins nothing, gives back what it has not begun, and lets what runs finish. */
  run(signal: AbortSignal): Promise<void>
  /** Says that something was written: the worker looks at once. */
  nudge(): void
  /** Carries out this one effect, due or not, for whoever it was handed over to. `busy`: it is not to be had. */
  carryOut(effectId: number): Promise<Ending | 'busy'>
}

/**
 * Carries out the effects of an outbox. Any number of workers may share one store; polling is the truth, a nudge only makes
 * it quick.
 *
 * @example
 * const worker = effectWorker({ store: store.effects, effects: outbox })
 * await worker.run(signal)
 */
export function effectWorker<Tx>(options: EffectWorkerOptions<Tx>): EffectWorker {
  const { run, ...worker } = watchedWorker(options)
  return { ...worker, run: (signal) => run(signal) }
}

/** The same, for whoever watches its passes. */
export interface WatchedWorker extends EffectWorker {
  run(signal: AbortSignal, watch?: Watch): Promise<void>
}

export function watchedWorker<Tx>(options: EffectWorkerOptions<Tx>): WatchedWorker {
  const around = surroundingsOf(options)
  const { store, effects, clock, chance, events, log } = around
  const leaseMs = leaseOf(effects, options.lease)
  const concurrency = wholeNumber(options.concurrency ?? effectBounds.concurrency, 'concurrency')
  const batch = wholeNumber(options.batch ?? effectBounds.batch, 'batch')
  /** Of those in its hands one part is called or settled, and up to two are asked for. */
  const share = Math.ceil(batch / 3)
  const kinds = [...effects.kinds.keys()]
  const leases = holding(around, leaseMs)
  const settle = settling(around)
  const late = lateResults(around)
  const timers = sharedTimers(clock)
  const { words } = around
  const carrying = { store, words, effects, clock, chance, log, events, leaseMs, holding: leases, settle, late, timers }
  const hands = crew(concurrency)
  const apart = suspects({
    most: Math.ceil(batch / 2),
    settle,
    claim: named,
    carryOut: (held) => carry(held, 'found'),
  })
  const pause = rest(clock)
  /** Of the run, since its last pass. */
  const endings: (Ending | 'busy')[] = []
  let onEnded = () => {}
  let isDraining = false
  /** Claims that are under way: the store looks for the next while those run that it found last. */
  const ahead: Claiming[] = []
  let givenBack: Promise<unknown> = Promise.resolve()

  async function claimed(query: {
    readonly limit: number
    readonly ids?: readonly number[]
  }): Promise<readonly Held[]> {
    const askedAt = clock.elapsed()
    const found = await store.claim({ kinds, leaseMs, ...query })
    return found.flatMap((effect) => {
      const kind = effects.kinds.get(effect.kind)
      return kind === undefined ? [] : [heldOf(effect, kind, askedAt, leaseMs)]
    })
  }

  async function carry(held: Held, source: Source): Promise<Ending> {
    leases.add(held)
    try {
      return await carriedOut(held, source, carrying)
    } finally {
      letGo(held)
    }
  }

  /** Its lease is renewed while it waits for its turn. */
  async function carryInTurn(held: Held): Promise<Ending> {
    leases.add(held)
    try {
      const turn = hands.enter(held)
      if (turn !== undefined && (await turn) === 'sent away') return 'release'
      try {
        return await carriedOut(held, 'found', carrying)
      } finally {
        hands.leave()
      }
    } finally {
      letGo(held)
    }
  }

  function letGo(held: Held): void {
    leases.remove(held)
    // The next of its order may be had now.
    if (held.effect.order !== undefined) pause.nudge()
    onEnded()
  }

  function take(held: Held): Promise<Ending | 'busy'> {
    return apart.isSuspect(held.effect) ? apart.take(held).finally(() => onEnded()) : carryInTurn(held)
  }

  /** Once it drains, nothing begins: what a claim that was on its way brings is given back. */
  async function begun(found: readonly Held[]): Promise<readonly Held[]> {
    if (!isDraining) return found
    await Promise.all(found.map((held) => settle(held, { kind: 'release' })))
    return []
  }

  async function named(id: number): Promise<Held | undefined> {
    if (isDraining) return undefined
    const [held] = await begun(await claimed({ limit: 1, ids: [id] }))
    return held
  }

  function heldNow(): number {
    return leases.size() + apart.size()
  }

  /** What was begun and left alone is in doubt from here on. */
  async function sweep(): Promise<void> {
    for (const effect of await store.sweep(limits.batch))
      events.emit('effect_doubted', () => ({ ...subjectOf(effect), errorCode: effect.errorCode ?? 'lease_over' }))
  }

  /** Asks for what there is room for beside those that it has in hand, in so many claims at once. */
  function ask(inHand: number, atOnce: number): void {
    while (ahead.length < atOnce && !isDraining) {
      const askedFor = ahead.reduce((sum, { limit }) => sum + limit, 0)
      const limit = Math.min(batch - heldNow() - inHand - askedFor, share)
      if (limit <= 0) return
      const found = claimed({ limit })
      // Whoever awaits it hears of it.
      found.catch(() => undefined)
      ahead.push({ limit, found })
    }
  }

  /** Begins what there is, and waits only for the taking. */
  async function intake(): Promise<number> {
    ask(0, 1)
    const asked = ahead.shift()
    const found = await begun((await asked?.found) ?? [])
    // One that came back full is not the last: two at once keep the store at work while its disk is waited for.
    if (found.length > 0) ask(found.length, found.length === asked?.limit ? 2 : 1)
    for (const held of found) take(held).then((ending) => endings.push(ending), tellOfBug)
    return found.length
  }

  function tellOfBug(error: unknown): void {
    const message = `an effect was left to its lease: ${error instanceof Error ? error.message : String(error)}`
    log({ level: 'error', code: 'effect_left', message })
  }

  /** Waits until so few are held, but no longer than `ms`. */
  async function fewerThan(count: number, ms: number, signal?: AbortSignal): Promise<void> {
    if (heldNow() < count) return
    if (signal?.aborted) return
    const enough = new Stopping()
    onEnded = () => {
      if (heldNow() < count) enough.stop()
    }
    const unlisten = signal && onOver(signal, () => enough.stop())
    await sleep(clock, ms, enough)
    unlisten?.()
    onEnded = () => {}
  }

  /** Waits for it, but no longer than `ms`. */
  async function noLonger(ms: number, work: Promise<unknown>): Promise<void> {
    const enough = new Stopping()
    const end = () => enough.stop()
    work.then(end, end)
    await sleep(clock, ms, enough)
  }

  /** Those whose turn has not come leave the crew released, and the store is told so. */
  function stopTaking(): void {
    isDraining = true
    givenBack = Promise.all([givenBack, ...hands.dismiss().map((held) => settle(held, { kind: 'release' }))])
  }

  async function drain(): Promise<void> {
    stopTaking()
    const brought = ahead.splice(0).map(({ found }) => found.then(begun).catch(() => undefined))
    // A store that is silent has the leases run out.
    await noLonger(defaults.lastWordsMs, Promise.all([givenBack, ...brought]))
    await fewerThan(1, defaults.drainMs)
    leases.abandon()
    await fewerThan(1, defaults.lastWordsMs)
    await late.written()
  }

  return {
    async runOnce() {
      await sweep()
      const found = await claimed({ limit: batch })
      return passedOf(found.length, await Promise.all(found.map(take)))
    },
    async run(signal, watch = unwatched(around)) {
      isDraining = false
      signal.addEventListener('abort', stopTaking, { once: true })
      let sweptAt = Number.NEGATIVE_INFINITY
      let taken = 0
      const pass = async () => {
        if (clock.elapsed() - sweptAt >= effectBounds.sweepMs) {
          sweptAt = clock.elapsed()
          await sweep()
        }
        taken = await intake()
        return passedOf(taken, endings.splice(0))
      }
      while (!signal.aborted) {
        try {
          await watch.pass(pass)
          // What another claim under way may bring is not left to its lease meanwhile.
          if (ahead.length > 0) continue
          if (taken === 0 && heldNow() < batch) await pause.pause(idleMs(chance.fraction()), signal)
          // The next are asked for while the last of these are settled.
          else await fewerThan(Math.floor(batch / 2) + 1, effectBounds.sweepMs, signal)
        } catch (error) {
          const pauseMs = watch.pauseAfter(error)
          if (pauseMs === undefined) break
          await sleep(clock, pauseMs, signal)
        }
      }
      await drain()
      signal.removeEventListener('abort', stopTaking)
    },
    nudge: pause.nudge,
    async carryOut(effectId) {
      const held = await named(effectId)
      return held === undefined ? 'busy' : carry(held, 'named')
    },
  }
}

/** A claim that is under way, and how many it may bring. */
interface Claiming {
  readonly limit: number
  readonly found: Promise<readonly Held[]>
}

/** Nodes that began together do not look together. */
function idleMs(fraction: number): number {
  return effectBounds.idleMs * (0.5 + fraction)
}
