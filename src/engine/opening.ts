import { type Clock, within } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import type { Emitter } from '../kernel/events.js'
import { defaults } from '../kernel/limits.js'
import type { Finding } from './finding.js'
import { unavailable } from './in-time.js'
import type { Store } from './store.js'
import type { TellFailure } from './store-failures.js'

/** Opens a store once for all who ask. After a failure the next one to ask tries again. */
export interface Opening {
  open(): Promise<void>
  /** Whether it has been opened, so that nobody need wait for it. */
  isOpen(): boolean
  /** Closes the store if it was ever opened. */
  close(): Promise<void>
}

export function opening<Tx>(store: Store<Tx>, clock: Clock, events: Emitter, tell: TellFailure): Opening {
  let opened: Promise<void> | undefined
  let isOpen = false

  async function attempt(): Promise<void> {
    const late = () =>
      new HapaxError('store_unreachable', `The ${store.name} store did not open within ${defaults.openTimeoutMs} ms.`)
    try {
      await within(clock, defaults.openTimeoutMs, store.open(), late)
      isOpen = true
      if (store.examine !== undefined) await warn(store.examine())
    } catch (error) {
      opened = undefined
      throw tell('open', error, isHapaxError(error) ? error : unavailable('open', error))
    }
  }

  /** What is broken has refused to open. What could not be looked at will show. */
  async function warn(examined: Promise<readonly Finding[]>): Promise<void> {
    const late = () => new Error('The store was not examined in time.')
    const findings = await within(clock, defaults.openTimeoutMs, examined, late).catch(() => [])
    for (const { level, check, says } of findings)
      if (level === 'warning') events.emit('store_warned', () => ({ check, says }))
  }

  return {
    isOpen: () => isOpen,
    open() {
      opened ??= attempt()
      return opened
    },
    async close() {
      if (opened === undefined) return
      const late = () =>
        new HapaxError('store_failed', `The ${store.name} store did not close within ${defaults.openTimeoutMs} ms.`)
      await within(clock, defaults.openTimeoutMs, store.close(), late)
    },
  }
}
