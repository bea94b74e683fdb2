import { setTimeout as delay } from 'node:timers/promises'

/** Holds a payment back inside its handler, so that a person or a test can meet one that still runs. */
export async function heldBack(delayMs: number, signal: AbortSignal): Promise<void> {
  if (delayMs > 0) await delay(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted())
}
