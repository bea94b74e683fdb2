import { within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { unavailable } from './bounded-store.js'
import type { Context } from './context.js'

/** Opening may take long and goes on by itself; nobody waits for it longer than for any step of the store. */
export function openedInTime<Tx>({ clock, opening, storeTimeoutMs }: Context<Tx>): Promise<void> {
  const late = () => new HapaxError('idempotency_store_unavailable', 'The store is still being opened.')
  return within(clock, storeTimeoutMs, opening.open(), late).catch((error: unknown) => {
    throw unavailable('open', error)
  })
}
