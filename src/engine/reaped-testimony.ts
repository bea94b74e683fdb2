import type { KeptTestimony } from './call-store.js'

/** A testimony in a store that asks here, and not its database, what becomes of it. */
export interface SaidTestimony extends KeptTestimony {
  /** The reaper has seen that what it is about is here. */
  readonly isPassed?: true
}

/**
 * What the reaper makes of a testimony: one that is about nothing that is here goes in the end, and any other is passed, and not
 * looked at again. `undefined`: it is not looked at.
 */
export function reapTestimony(
  said: SaidTestimony,
  isHere: (downstreamKey: string) => boolean,
  keepMs: number,
  now: number,
): SaidTestimony | 'deleted' | undefined {
  if (said.isPassed || said.at > now - keepMs) return undefined
  return isHere(said.downstreamKey) ? { ...said, isPassed: true } : 'deleted'
}
