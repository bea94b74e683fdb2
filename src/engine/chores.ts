import { HapaxError } from '../kernel/errors.js'
import { defaults, telemetryBounds } from '../kernel/limits.js'
import { progressOf, reconcileTold } from './believing.js'
import type { Context } from './context.js'
import type { Testimony } from './inbox-store.js'
import { type Reconciled, subjectIn } from './leaving.js'
import { openedInTime } from './opened.js'
import { reconcile } from './reconciling.js'
import type { StoredRecord } from './record.js'
import { type Resumed, resume } from './resuming.js'
import type { Reaped } from './store.js'
import { askedInTurn, together } from './together.js'
import { abandoned } from './transitions.js'

/**
 * What workers do for the records, each a bounded single pass that any number of nodes may make at once. When to make one
 * is for the workers to say.
 */
export interface Chores {
  /** Turns claims whose lease is over into doubt, and settles at once what somebody has testified before. */
  sweep(limit: number): Promise<readonly StoredRecord[]>
  /** Goes on with operations that were left half-done. Once the signal aborts, it begins with no other. */
  resume(limit: number, signal?: AbortSignal): Promise<readonly Resumed[]>
  /** Looks at doubts whose time has come. Once the signal aborts, it gives back those that it has not looked at. */
  reconcile(limit: number, asking?: Asking, signal?: AbortSignal): Promise<readonly Reconciled[]>
  /** Whether a look from here says anything: the code of an operation may be on another node only. */
  canLook(record: StoredRecord): boolean
  /** Looks at one doubt, which its caller has put off by `lookMs` so that nobody else does. */
  look(record: StoredRecord): Promise<Reconciled>
  /** Buries what is past its retention and deletes what was buried long enough. */
  reap(limit: number): Promise<Reaped>
  /** Leaves to a person what is half-done past its retention, and what nobody here goes on with. */
  abandon(limit: number): Promise<readonly StoredRecord[]>
  /** What a reaping would find now, up to `telemetryBounds.countedRows` of each; `undefined` where the store cannot say. */
  reapable(): Promise<Reaped | undefined>
  /**
   * Somebody has testified, which is durable: a record that is in doubt is settled at once, not at its next look. Gives what
   * came of each.
   */
  testified(testimonies: readonly Testimony[]): Promise<readonly Heard[]>
}

/** What came of somebody's word. */
export type Heard =
  /** It has ended a doubt. */
  | 'settled'
  /** It is not enough by itself: whoever can ask the provider looks next. */
  | 'looked_at_next'
  /** It is for a person to say more, such as what the call returned: the record's error code says what is missing. */
  | 'left_to_operator'
  /** Nobody is in doubt about it now, or it was said too early to count. It is kept. */
  | 'kept'

/** Who decides whether providers are asked: one that does not answer need not be asked about everything. */
export interface Asking {
  mayAsk(operation: string): boolean
  heard(operation: string, came: Reconciled): void
  /** Told of each doubt before it is looked at; `false` leaves it alone. */
  begins?(record: StoredRecord): Promise<boolean>
}

export function chores<Tx>(context: Context<Tx>): Chores {
  const { wholeStore: store, events } = context

  async function sweep(limit: number): Promise<readonly StoredRecord[]> {
    const swept = await store.sweep(limit)
    for (const record of swept) events.emit('swept', () => subjectIn(record))
    // Evidence may have come before the doubt.
    await together(
      swept.filter(({ progress }) => progress !== undefined),
      (record) => reconcileTold(context, record),
    )
    return swept
  }

  async function resumed(limit: number, signal?: AbortSignal): Promise<readonly Resumed[]> {
    const operations = context.operations.names()
    if (operations.length === 0) return []
    const found = await store.interrupted({ operations, limit })
    return together(found, async (record) => {
      if (signal?.aborted) return { kind: 'not_ours' }
      return context.background.track(resume(context, record))
    })
  }

  async function reconciled(limit: number, asking?: Asking, signal?: AbortSignal): Promise<readonly Reconciled[]> {
    const may = (operation: string) => asking?.mayAsk(operation) ?? true
    const operations = context.operations.names().filter(may)
    if (operations.length === 0) return []
    // What is held is looked at, or put back, before another node may take it.
    const beginUntil = context.clock.elapsed() + defaults.beginLooksMs
    const found = await store.doubts({ operations, limit, holdMs: defaults.lookMs })
    const whom = ({ operation }: StoredRecord) => operation
    return askedInTurn(found, whom, async (record) => {
      // Nobody looks at this one now, so that another node may do so at once, or this one once its provider answers.
      const isLate = context.clock.elapsed() >= beginUntil
      if (signal?.aborted || isLate || !may(record.operation)) return putBack(record)
      if (asking?.begins !== undefined && !(await asking.begins(record))) return 'put_off'
      const came = await looked(record)
      asking?.heard(record.operation, came)
      return came
    })
  }

  /** With the store's time: a doubt was put off by so much from then. */
  const looked = (record: StoredRecord) => reconcile(context, record, (record.reconcileAfter ?? 0) - defaults.lookMs)

  function canLook(record: StoredRecord): boolean {
    const progress = progressOf(context, record)
    const isOperation = progress !== 'unreadable' && progress?.input !== undefined
    return !isOperation || context.operations.find(record.operation) !== undefined
  }

  async function putBack(record: StoredRecord): Promise<Reconciled> {
    const { generation, fence, looks } = record
    await store.postpone(record, { generation, fence, state: 'unknown', looks, afterMs: 0 })
    return 'put_off'
  }

  async function testifiedAbout(downstreamKey: string): Promise<Heard> {
    const record = (await store.calls?.find(downstreamKey))?.record
    if (record?.state === 'unknown') {
      const told = await reconcileTold(context, record)
      if (told === 'settled' || told === 'left_to_operator') return told
      const { generation, fence, looks } = record
      // What this node cannot settle is due at once, for one that can ask.
      await store.postpone(record, { generation, fence, state: 'unknown', looks, afterMs: 0 })
      return told === undefined ? 'kept' : 'looked_at_next'
    }
    const effect = await store.effects?.findByKey(downstreamKey)
    if (effect?.state !== 'unknown') return 'kept'
    await store.effects?.postpone(effect, { looks: effect.looks, afterMs: 0 })
    return 'looked_at_next'
  }

  return {
    sweep: (limit) => opened(context, () => sweep(limit)),
    resume: (limit, signal) => opened(context, () => resumed(limit, signal)),
    reconcile: (limit, asking, signal) => opened(context, () => reconciled(limit, asking, signal)),
    canLook,
    look: (record) => opened(context, () => looked(record)),
    reap: (limit) =>
      opened(context, async () => {
        const reaped = await store.reap(limit)
        if (reaped.buried + reaped.deleted > 0) events.emit('reaped', () => reaped)
        return reaped
      }),
    abandon: (limit) =>
      opened(context, async () => {
        const left = await store.abandon({ operations: context.operations.names(), limit })
        for (const record of left)
          events.emit('left_to_operator', () => ({ ...subjectIn(record), errorCode: abandoned }))
        return left
      }),
    reapable: () => opened(context, async () => store.reapable?.(telemetryBounds.countedRows)),
    testified: (testimonies) =>
      opened(context, async () => {
        const heard: Heard[] = []
        for (const { downstreamKey } of testimonies) heard.push(await testifiedAbout(downstreamKey))
        return heard
      }),
  }
}

async function opened<Tx, T>(context: Context<Tx>, chore: () => Promise<T>): Promise<T> {
  if (context.background.ended.isStopped) throw new HapaxError('engine_closed')
  if (!context.opening.isOpen()) await openedInTime(context)
  return chore()
}
