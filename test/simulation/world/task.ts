/**
 * On whose behalf something is done: a request that arrived, the pass of a worker. It is known what a task has written, and
 * whether it was refused.
 */
export interface Task {
  /** How much the judges had noted when it began: answers that gave way, and that something has landed. */
  readonly begunAfter: number
  /** Rows that it has changed for good. */
  writes: number
  /** Of these, what landed when nobody waited for it any more, and what gave that back. */
  excused: number
  /** How often it asked a provider for something. */
  asks: number
  /** How often it took a key. */
  claims: number
  /** What it changed of records that nobody but their holder may change. */
  strayChanges: number
  /** What its key stood for when it looked. */
  readonly met: Set<Met>
  /** The code of the refusal that it ended in. */
  refusedWith: string | undefined
  /** The first id that was drawn for it: a request that was sent with a key would hold that by it. */
  firstId: string | undefined
}

/** Somebody has the key; nobody knows what came of it; or it stands for a request, whatever came of that. */
export type Met = 'holder' | 'doubt' | 'request'

export function newTask(begunAfter: number): Task {
  return {
    begunAfter,
    writes: 0,
    excused: 0,
    asks: 0,
    claims: 0,
    strayChanges: 0,
    met: new Set(),
    refusedWith: undefined,
    firstId: undefined,
  }
}

/** All that is known of it, for telling states apart: two that differ in it are judged differently, whatever follows. */
export function countsOf(task: Task | undefined): readonly unknown[] {
  if (task === undefined) return []
  const { begunAfter, writes, excused, asks, claims, strayChanges, met, refusedWith = 'none', firstId } = task
  return [begunAfter, writes, excused, asks, claims, strayChanges, [...met].sort(), refusedWith, firstId]
}
