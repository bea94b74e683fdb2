import type { Chooser } from './choices.js'
import { type Fault, type Faults, faultsFor, faultsWhileWaiting, haste, words } from './faults.js'
import type { PortCall } from './port-call.js'
import { newProcess, wordsOf } from './process.js'
import type { Task } from './task.js'

/** A call that is under way, and whom to tell. Nobody waits for the reply of a process that has crashed. */
export interface Pending {
  readonly call: PortCall<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  readonly task: Task | undefined
  /** As its call says: asked at every step of everything that is under way, and calls are of many shapes. */
  readonly until: number
  readonly mayWait: boolean
}

/** Something that is under way, and how it ends. */
export interface Deed {
  readonly pending: Pending
  readonly way: Fault
}

export const none: readonly Deed[] = []

/** All ways in which what is ready may end. */
export function deedsOf(ready: readonly Pending[], faults: Faults): readonly Deed[] {
  return ready.flatMap((pending, index) =>
    faultsFor(pending.call, faults, isFirst(ready, index)).map((way) => ({ pending, way })),
  )
}

/** What is taken of these, or of time, by whoever knows by their words what he wants; `undefined`: nothing. */
export function recalled(
  which: NonNullable<Chooser['which']>,
  deeds: readonly Deed[],
  mayPass: boolean,
): Deed | typeof haste | undefined {
  const told = deeds.map(({ pending, way }) => words(pending.call, way))
  const index = which(mayPass ? [...told, haste] : told)
  return index === deeds.length ? haste : deeds[index]
}

/** All that may go wrong now with what waits for a lock. */
export function harmsToWaiting(
  underWay: readonly Pending[],
  ready: readonly Pending[],
  faults: Faults,
): readonly Deed[] {
  const harms: Deed[] = []
  const met = new Set(ready.map(({ call }) => call.process))
  for (const pending of underWay) {
    if (isReady(pending)) continue
    const { process } = pending.call
    for (const way of faultsWhileWaiting(pending.call, faults, !met.has(process))) harms.push({ pending, way })
    met.add(process)
  }
  return harms
}

/** A reply on its way back: whom to tell, and what is learned from it, in short. */
export interface ReplyOnItsWay {
  readonly tell: () => void
  readonly learned: () => string
}

/** Lets it happen, or be cancelled, and gives the reply. */
export function happened(
  call: PortCall<unknown>,
  resolve: Pending['resolve'],
  reject: Pending['reject'],
  how?: 'cancelled',
): ReplyOnItsWay {
  try {
    const value = how === 'cancelled' ? call.cancel?.() : call.happen()
    return { tell: () => resolve(value), learned: () => `${call.words()}: ${call.digest?.(value) ?? wordsOf(value)}` }
  } catch (error) {
    return { tell: () => reject(error), learned: () => `${call.words()}: ${wordsOf(error)}` }
  }
}

export function isReady({ call, mayWait }: Pending): boolean {
  return !mayWait || call.isReady?.() !== false
}

/** Whether a process crashes before this call of its or before another one is the same. */
export function isFirst(ready: readonly Pending[], index: number): boolean {
  return ready.findIndex(({ call }) => call.process === ready[index]?.call.process) === index
}

/** Whose requests are on their way after it has crashed. */
export const ghost = newProcess('nobody')

export function nobody(): void {}

/** The same call of nobody: its request is on its way, and nothing can be done about it. */
export function adriftOf(call: PortCall<unknown>): PortCall<unknown> {
  return {
    process: ghost,
    port: call.port,
    until: call.until,
    isTraceless: call.isTraceless ?? false,
    isUrgent: call.isUrgent ?? false,
    isUnheeded: call.isUnheeded,
    words: () => `what was under way arrives: “${call.words()}”`,
    isReady: () => call.isReady?.() !== false,
    happen: () => call.happen(),
    saw: () => call.saw?.() ?? '',
    digest: (value) => call.digest?.(value) ?? wordsOf(value),
  }
}

/** The reply of a call that has happened, on its way by itself. */
export function replyOf(call: PortCall<unknown>, reply: () => void): PortCall<unknown> {
  return {
    process: call.process,
    port: call.port,
    words: () => `the reply to “${call.words()}” arrives`,
    happen: reply,
  }
}
