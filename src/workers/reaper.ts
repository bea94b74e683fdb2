import { type Duration, parseDuration } from '../kernel/duration.js'
import { workerBounds } from '../kernel/limits.js'
import type { WorkersHost } from './host.js'
import { pacedBy, type WorkerOptions } from './options.js'
import { did } from './passes.js'
import { type Service, service } from './service.js'

export interface ReaperOptions extends WorkerOptions {
  /** Between two full batches. Default `'50ms'`. */
  readonly pause?: Duration
  /** How long effects stay after they were done or discarded. Default `'30d'`. */
  readonly keepEffects?: Duration
  /** How long the names of webhook events stay: longer than any provider delivers one again. Default `'30d'`. */
  readonly keepEvents?: Duration
}

/**
 * Clears away what nobody needs any more, a little at a time, so that traffic never waits for it. What is past its time and
 * not over comes to a person.
 */
export function reaper<Tx>(host: WorkersHost<Tx>, options: ReaperOptions = {}): Service {
  const { everyMs, batch } = pacedBy(options, 'reaper', workerBounds.reapMs, workerBounds.reapBatch)
  const ms = (given: Duration | undefined, otherwise: number, option: string) =>
    given === undefined ? otherwise : parseDuration(given, `reaper: ${option}`)
  const keepEffectsMs = ms(options.keepEffects, workerBounds.keepEffectsMs, 'keepEffects')
  const keepEventsMs = ms(options.keepEvents, workerBounds.keepEventsMs, 'keepEvents')
  return service(host, {
    name: 'reaper',
    everyMs,
    fullPauseMs: ms(options.pause, workerBounds.reapPauseMs, 'pause'),
    async pass() {
      const { buried, deleted } = await host.chores.reap(batch)
      const { length: left } = await host.chores.abandon(batch)
      const effects = (await host.outbox?.reap(batch, keepEffectsMs)) ?? 0
      const events = (await host.inbox?.reap(batch, keepEventsMs)) ?? 0
      const said = await host.calls?.reap(batch, workerBounds.keepTestimoniesMs)
      const testimonies = said?.deleted ?? 0
      const looked = testimonies + (said?.passed ?? 0)
      const isFull = [buried, deleted, left, effects, events, looked].some((count) => count === batch)
      return {
        did: did({ buried, deleted, left_to_operator: left, effects, events, testimonies }),
        left: isFull ? 'more' : 'nothing',
      }
    },
  })
}
