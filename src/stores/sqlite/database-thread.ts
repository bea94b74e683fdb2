import { type Clock, within } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import { defaults, sqliteBounds } from '../../kernel/limits.js'
import type { ServiceName, Services, ThreadSettings } from './protocol.js'
import { startThread, type Thread } from './thread.js'

/** The thread that owns the database, started for whoever asks first, and anew for whoever asks after its death. */
export interface DatabaseThread {
  ask<K extends ServiceName>(service: K, ...args: Parameters<Services[K]>): Promise<ReturnType<Services[K]>>
  /** Lets go of the database and waits until the thread is gone. */
  end(): Promise<void>
  cut(): void
}

export function databaseThread(settings: Omit<ThreadSettings, 'missing'>, clock: Clock): DatabaseThread {
  let missing: ThreadSettings['missing'] = settings.migrate === 'never' ? 'refuse' : 'create'
  let thread: Thread | undefined

  const start = (): Thread => {
    const started = startThread({ ...settings, missing }, clock, () => {
      if (thread === started) thread = undefined
    })
    return started
  }

  /** A ROLLBACK needs no lock, hence little time. */
  const boundMs = (service: ServiceName): number => {
    if (service === 'open') return defaults.openTimeoutMs
    return service === 'rollback' ? settings.busyTimeoutMs : settings.busyTimeoutMs + sqliteBounds.answerMs
  }

  return {
    async ask(service, ...args) {
      thread ??= start()
      const answer = await thread.ask(boundMs(service), service, ...args)
      missing = 'lost' // A file that was there once and is gone was lost: an empty one must not take its place.
      return answer
    },
    async end() {
      if (thread === undefined) return
      const { ask, ended } = thread
      await ask(boundMs('close'), 'close').catch(() => undefined)
      await within(
        clock,
        boundMs('close'),
        ended,
        () => new HapaxError('store_failed', 'The thread of the database did not end.'),
      )
    },
    cut: () => thread?.cut(),
  }
}
