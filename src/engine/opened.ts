import { within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import type { Context } from './context.js'
import { unavailable } from './in-time.js'

/** Opening may take long and goes on by itself; nobody waits for it longer than for any step of the store. */
export async function openedInTime<Tx>({ clock, opening, storeTimeoutMs }: Context<Tx>): Promise<void> {
  const late = () => new HapaxError('idempotency_store_unavailable', 'The store is still being opened.')
  try {
    await within(clock, storeTimeoutMs, opening.open(), late)
  } catch (error) {
    throw unavailable('open', error)
  }
}
