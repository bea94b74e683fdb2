/** An event in a store that asks here, and not its database, what becomes of it. */
interface KeptEvent {
  readonly processedAt: number
}

/** What the reaper makes of an event: it is remembered for as long as its provider may deliver it again. `undefined`: it stays. */
export function reapEvent({ processedAt }: KeptEvent, keepMs: number, now: number): 'deleted' | undefined {
  return processedAt <= now - keepMs ? 'deleted' : undefined
}
