import { HapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'
import { type Reconciled, reconcileTold, subjectIn } from './believing.js'
import type { Context } from './context.js'
import type { Testimony } from './inbox-store.js'
import { openedInTime } from './opened.js'
import { reconcile } from './reconciling.js'
import type { StoredRecord } from './record.js'
import { type Resumed, resume } from './resuming.js'
import type { Reaped } from './store.js'

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
  /** Buries what is past its retention and deletes what was buried long enough. */
  reap(limit: number): Promise<Reaped>
  /** Somebody has testified, which is durable: a record that is in doubt is settled at once, not at its next look. */
  testified(testimonies: readonly Testimony[]): Promise<void>
}

/** Who decides whether providers are asked: one that does not answer need not be asked about everything. */
export interface Asking {
  mayAsk(operation: string): boolean
  heard(operation: string, came: Reconciled): void
}

export function chores<Tx>(context: Context<Tx>): Chores {
  const { wholeStore: store, events } = context

  async function sweep(limit: number): Promise<readonly StoredRecord[]> {
    const swept = await store.sweep(limit)
    for (const record of swept) events.emit('swept', () => subjectIn(record))
    // Evidence may have come before the doubt.
    await together(
      swept.filter(({ isBegun }) => isBegun),
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
    const found = await store.doubts({ operations, limit, holdMs: defaults.lookMs })
    return together(found, async (record) => {
      // Nobody looks at this one now, so that another node may do so at once, or this one once its provider answers.
      if (signal?.aborted || !may(record.operation)) return putBack(record)
      const came = await looked(record)
      asking?.heard(record.operation, came)
      return came
    })
  }

  /** With the store's time: a doubt was put off by so much from then. */
  const looked = (record: StoredRecord) => reconcile(context, record, (record.reconcileAfter ?? 0) - defaults.lookMs)

  async function putBack(record: StoredRecord): Promise<Reconciled> {
    await store.postpone(record, { ...record, afterMs: 0 })
    return 'put_off'
  }

  async function testifiedAbout(downstreamKey: string): Promise<void> {
    const record = (await store.calls?.find(downstreamKey))?.record
    if (record?.state === 'unknown') {
      const { generation, fence, looks } = record
      // What this node cannot settle is due at once, for one that can ask.
      if ((await reconcileTold(context, record)) === undefined)
        await store.postpone(record, { generation, fence, looks, afterMs: 0 })
      return
    }
    const effect = await store.effects?.findByKey(downstreamKey)
    if (effect?.state === 'unknown') await store.effects?.postpone(effect, { looks: effect.looks, afterMs: 0 })
  }

  return {
    sweep: (limit) => opened(context, () => sweep(limit)),
    resume: (limit, signal) => opened(context, () => resumed(limit, signal)),
    reconcile: (limit, asking, signal) => opened(context, () => reconciled(limit, asking, signal)),
    reap: (limit) =>
      opened(context, async () => {
        const reaped = await store.reap(limit)
        if (reaped.buried + reaped.deleted > 0) events.emit('reaped', () => reaped)
        return reaped
      }),
    testified: (testimonies) =>
      opened(context, async () => {
        for (const { downstreamKey } of testimonies) await testifiedAbout(downstreamKey)
      }),
  }
}

async function opened<Tx, T>(context: Context<Tx>, chore: () => Promise<T>): Promise<T> {
  if (context.background.ended.aborted) throw new HapaxError('engine_closed')
  await openedInTime(context)
  return chore()
}

/** A bounded number at once. One that fails does not keep the others from being done; the first error is thrown at the end. */
async function together<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  const errors: unknown[] = []
  const queue = all.values()
  const lane = async () => {
    for (const one of queue)
      await work(one).then(
        (result) => results.push(result),
        (error: unknown) => errors.push(error),
      )
  }
  await Promise.all(Array.from({ length: Math.min(limits.itemsAtOnce, all.length) }, lane))
  if (errors.length > 0) throw errors[0]
  return results
}
