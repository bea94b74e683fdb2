import { isFinal } from '../../src/engine/effect-store.js'
import type { State } from '../../src/engine/state.js'
import { type WorkerName, workerNames } from '../../src/workers/services.js'
import { missingMs, promised } from './application.js'
import { type ClientContext, client } from './client.js'
import { passMs } from './invariants/patience.js'
import { isNeverRight, type Simulation } from './scenario.js'
import { workerAt } from './setting.js'
import { newProcess } from './world/process.js'

/**
 * After so many rounds whatever is still open goes in circles. Each thing that waits has a bound of its own, of minutes: with the
 * pauses between the rounds these last for less than a day; and for less than four where something never comes right, of which
 * nobody is told before three.
 */
const mostRounds = { usually: 40, 'never right': 110 } as const

/**
 * Once; and once more who was told that nobody knows: a word that came too late to keep him from asking, and too early to say with
 * what it landed, is a doubt again as soon as he comes back (seed 21370523).
 */
const mostAsked = 2

/** For so long a node may still be stopped. */
const mostStoppedMs = 60_000

/** So much of the time between two rounds is gone through by those who work by themselves: each of them makes a pass. */
const seenMs = 5_000

/**
 * What happens when all that was on the way has arrived: nothing goes wrong any more, workers do their work, an operator
 * answers what is left to people, and clients ask once more. What nobody has come back for is over after its retention. Called whenever the world is idle; `false` when all is over.
 */
export function recovery(simulation: Simulation, around: ClientContext): () => boolean {
  const { world, database, provider, checks, node } = simulation
  const outside = world.add(newProcess('the time that passes'))
  let round = 0
  let hasWaited = false
  let timesAsked = 0
  let isEnded = false

  const loops = simulation.scenario.loops?.workers ?? []
  const most = mostRounds[isNeverRight(simulation.scenario) ? 'never right' : 'usually']

  async function work(): Promise<void> {
    // One that has crashed is started anew, and its workers work by themselves.
    if (loops.length > 0) node(0)
    for (const name of workerNames) if (isNeeded(name) && !loops.includes(name)) await pass(name)
    for (const key of [...keysOf(database)]) await toldByOperator(key)
  }

  /** Over when it has ended, or its process: what it was sent may do that, and then others come all the same. */
  function pass(name: WorkerName): Promise<void> {
    const { worker, process } = node(0)
    world.comes(`${workerAt(name, process.name)} makes a pass`)
    return new Promise((resolve) => {
      process.onCrash.push(resolve)
      const passed = Promise.resolve(worker(name)?.runOnce()).catch(nothing)
      void passed.then(() => resolve())
    })
  }

  /** Whether this worker may find anything: a pass that cannot is only time. */
  function isNeeded(name: WorkerName): boolean {
    const some = (...states: readonly State[]) => database.records().some(({ state }) => states.includes(state))
    switch (name) {
      case 'sweeper':
        return some('in_progress')
      case 'reconciler':
        return some('unknown')
      case 'resumer':
        return some('in_progress', 'failed_retryable')
      case 'effects':
      case 'effectReconciler':
        return database.effects().some(({ state }) => !isFinal(state))
      case 'reaper':
        return false
    }
  }

  /** What is left to people: one looks at the provider's ledger, and says what is there, and what it gave. Nothing else is for him to say. */
  async function toldByOperator(key: string): Promise<void> {
    const act = provider.ledger.find((act) => act.key === key)
    const about = { downstreamKey: key, by: 'operator:ann', why: 'the ledger' }
    if (!isLeftToOperator(key)) return
    checks.leftToPeople(key)
    world.comes('an operator looks at the ledger of the provider')
    const said =
      act === undefined ? ({ says: 'not_landed' } as const) : ({ says: 'landed', result: { id: act.id } } as const)
    await node(0).hapax.testify({ ...about, ...said })
  }

  function isLeftToOperator(key: string): boolean {
    if (database.effects().some((effect) => effect.downstreamKey === key && isLeft(effect))) return true
    const marked = database.tables.calls.get(key)?.committed
    if (marked?.call.state !== 'begun') return false
    const { generation } = marked.call
    const record = database.records().find((one) => one.id === marked.recordId && one.generation === generation)
    // What a call of a handler's own makes of its request is for nobody to say who only knows of the call.
    return record !== undefined && record.operation !== 'deposits' && isLeft(record)
  }

  function askAgain(): void {
    timesAsked++
    const asked = new Set<string>()
    for (const { program, order } of simulation.scenario.requests) {
      // What is something else under the same key is another's, and only its own client goes on with it.
      const what = `${order.tenant}/${order.key} (${program}, ${order.amount})`
      // Whoever sent no key cannot ask again.
      if (asked.has(what) || order.isKeyless || order.misspelt !== undefined) continue
      asked.add(what)
      void client(`whoever sent ${what}`, { program, order, nodes: threeTimes, isAskingAgain: true }, around)
    }
  }

  /** For whoever works by himself the end of it is as it is: the rest is only time. */
  function passesFor(ms: number): void {
    world.pass(ms - seenMs)
    world.clockOf(outside).after(seenMs, nothing)
  }

  /** What runs keeps no world alive, but whoever waits for it does: for as long as it may run, and once. */
  function isWaitedFor(): boolean {
    if (hasWaited || !checks.isWaitedFor()) return false
    hasWaited = true
    world.clockOf(outside).after(promised.maxRunMs + mostStoppedMs, nothing)
    return true
  }

  return () => {
    if (round === 0 && !hasWaited) world.calm()
    if (isWaitedFor()) return true
    checks.heardOfAll()
    if (isEnded) {
      checks.over()
      return false
    }
    round++
    if (round > most) {
      checks.stuck()
      return false
    }
    if (!checks.isSettled()) {
      checks.waiting()
      const ms = round < 20 ? passMs : 3_600_000
      if (loops.length === 0) world.pass(ms)
      else passesFor(ms)
      void work()
      return true
    }
    if (timesAsked === 0) {
      // By then nothing is missing any more.
      world.pass(Math.max(0, missingMs - world.time))
      askAgain()
      return true
    }
    if (timesAsked < mostAsked && checks.isKnownByNow()) {
      askAgain()
      return true
    }
    isEnded = true
    checks.end()
    if (checks.isOver()) return false
    world.pass(promised.retentionMs)
    void pass('reaper')
    return true
  }
}

/** No worker looks at it again by itself. */
function isLeft({
  state,
  reconcileAfter,
}: {
  readonly state: string
  readonly reconcileAfter: number | undefined
}): boolean {
  return state === 'unknown' && reconcileAfter === undefined
}

/** Nodes that each attempt of one who asks again goes to. */
const threeTimes = [0, 0, 0]

/** Whoever fails now is asked again in the next round. */
function nothing(): void {}

/** The downstream keys of all calls and effects. */
function* keysOf({ calls, effects }: Simulation['database']): Generator<string> {
  for (const { key } of calls()) yield key
  for (const { downstreamKey } of effects()) yield downstreamKey
}
