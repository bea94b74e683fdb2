import type { Clock } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import { limits, sqliteBounds } from '../../kernel/limits.js'
import { errorOf } from './faults.js'
import type { Operation, Outcome, StepArguments, StepName, StepResult } from './protocol.js'

/**
 * The one lane to the database. While a batch is under way, whatever arrives waits and forms the next batch: no
 * timer, and one fsync for all of them. A turn (a transaction that a handler holds) has the lane to itself.
 * Renewals overtake everything that waits, since a lease does not wait.
 */
export interface Lane {
  step<K extends StepName>(name: K, ...args: StepArguments<K>): Promise<StepResult<K>>
  /** Waits for the lane and has it until `use` settles. */
  turn<T>(use: () => Promise<T>): Promise<T>
  /** Resolves when nothing is under way and nothing waits. */
  drained(): Promise<void>
}

export interface LaneSettings {
  readonly clock: Clock
  /** Who has waited longer than this for his turn is sent away: whoever asked him has given up. */
  readonly patienceMs: number
  readonly runBatch: (operations: readonly Operation[]) => Promise<readonly Outcome[]>
}

export function lane({ clock, patienceMs, runBatch }: LaneSettings): Lane {
  const renewals: WaitingStep[] = []
  const others: (WaitingStep | WaitingTurn)[] = []
  let moving: Promise<void> | undefined

  const join = <W extends Waiting>(queue: W[], waiting: W) => {
    if (renewals.length + others.length >= sqliteBounds.queue)
      return waiting.reject(tooBusy('too many operations wait for it'))
    queue.push(waiting)
    moving ??= move()
  }

  const move = async () => {
    await undefined // What else the same tick brings goes along.
    for (;;) {
      sendAwayImpatient(renewals)
      sendAwayImpatient(others)
      const next = others[0]
      if (next === undefined && renewals.length === 0) break
      if (next?.kind === 'turn' && renewals.length === 0) {
        others.shift()
        await next.start()
      } else await runTogether(nextBatch())
    }
    moving = undefined
  }

  const sendAwayImpatient = (queue: Waiting[]) => {
    const arrivedBefore = clock.elapsed() - patienceMs
    while (queue[0] !== undefined && queue[0].since < arrivedBefore) {
      queue.shift()?.reject(tooBusy(`its turn did not come within ${patienceMs} ms`))
    }
  }

  const nextBatch = (): WaitingStep[] => {
    const batch = renewals.splice(0, limits.commitBatch)
    while (batch.length < limits.commitBatch && others[0]?.kind === 'step') {
      batch.push(others[0])
      others.shift()
    }
    return batch
  }

  const runTogether = async (batch: readonly WaitingStep[]) => {
    try {
      const outcomes = await runBatch(batch.map(({ operation }) => operation))
      for (const [index, outcome] of outcomes.entries()) batch[index]?.settle(outcome)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return {
    step: <K extends StepName>(name: K, ...args: StepArguments<K>) =>
      new Promise<StepResult<K>>((resolve, reject) => {
        const operation = { name, args } as Operation
        const settle = (outcome: Outcome) =>
          outcome.kind === 'done' ? resolve(outcome.value as StepResult<K>) : reject(errorOf(outcome.fault))
        join(isRenewal(name) ? renewals : others, { kind: 'step', since: clock.elapsed(), operation, settle, reject })
      }),
    turn: <T>(use: () => Promise<T>) =>
      new Promise<T>((resolve, reject) => {
        const start = () => use().then(resolve, reject)
        join(others, { kind: 'turn', since: clock.elapsed(), start, reject })
      }),
    async drained() {
      while (moving !== undefined) await moving
    },
  }
}

interface Waiting {
  readonly since: number
  readonly reject: (error: unknown) => void
}

interface WaitingStep extends Waiting {
  readonly kind: 'step'
  readonly operation: Operation
  readonly settle: (outcome: Outcome) => void
}

interface WaitingTurn extends Waiting {
  readonly kind: 'turn'
  readonly start: () => Promise<void>
}

function isRenewal(name: StepName): boolean {
  return name === 'renew' || name === 'effects.renew'
}

function tooBusy(why: string): HapaxError {
  return new HapaxError(
    'store_busy',
    `The database is overloaded: ${why}, so this operation did not happen. Try again.`,
  )
}
