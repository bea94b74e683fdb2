import type { Engine } from '../engine/engine.js'
import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { telemetryBounds } from '../kernel/limits.js'
import { counting } from './counting.js'
import type { Metric } from './metric.js'
import { type Metrics, metricsOf } from './metrics.js'
import { sampling } from './sampling.js'
import { type RatesByTenant, tenantWatch } from './tenant-rates.js'

/** What is watched of an engine. */
export type TelemetryHost = Pick<Engine<unknown>, 'events' | 'measure' | 'clock'> & {
  readonly effects?: { readonly kinds: ReadonlyMap<string, unknown> } | undefined
}

export interface TelemetryOptions {
  /** The engine to watch. */
  readonly hapax: TelemetryHost
  /** How often the store is asked what it holds. `'off'` leaves those gauges out. Default `'15s'`. */
  readonly every?: Duration | 'off'
}

export interface Telemetry {
  /** All metrics as they stand: for exporters. */
  read(): readonly Metric[]
  /** How often the tenants that ask most sent duplicates, met a conflict or used a key for two requests, lately. */
  tenants(): RatesByTenant
  /** Asks the store what it holds now, besides those times that it is asked anyway. Never rejects. */
  sample(): Promise<void>
  /** Hears nothing more, and resolves when the store is not asked any more. What was counted can still be read. */
  stop(): Promise<void>
}

/**
 * Watches an engine: counts what it tells and asks its store now and then what it holds. Hand it to `prometheus()`, or to
 * `openTelemetryMetrics()` of `hapax/telemetry/opentelemetry`.
 *
 * @example
 * const watch = telemetry({ hapax })
 * const metrics = prometheus(watch)
 */
export function telemetry({ hapax, every = `${telemetryBounds.sampleMs}ms` }: TelemetryOptions): Telemetry {
  refuseMissing(hapax)
  const everyMs = every === 'off' ? undefined : atLeastOne(parseDuration(every, 'telemetry({ every })'))
  const { counted, all } = metricsOf()
  const tenants = tenantWatch(hapax.clock)
  beginWithEffects(counted, hapax)
  const deaf = counting(hapax.events, counted, tenants, () => hapax.clock.now())
  const { sample, stop } = sampling(hapax, counted, everyMs)

  return {
    read() {
      counted.duplicateRatio.at().value = tenants.all().duplicateRate
      return all
    },
    tenants: tenants.rates,
    sample,
    stop() {
      deaf()
      return stop()
    },
  }
}

/** Each kind is there from the start, at zero, so that the first that dies is seen as a step. */
function beginWithEffects({ effects }: Metrics, hapax: TelemetryHost): void {
  for (const kind of hapax.effects?.kinds.keys() ?? [])
    for (const ending of ['done', 'retried', 'dead', 'doubted']) effects.at(kind, ending)
}

function refuseMissing(hapax: TelemetryHost | undefined): void {
  if (typeof hapax?.events?.tally === 'function') return
  throw new HapaxError('policy_invalid', 'telemetry({ hapax }) needs the engine that it shall watch.')
}

function atLeastOne(ms: number): number {
  if (ms > 0) return ms
  throw new HapaxError('policy_invalid', "telemetry({ every }) is 0; give a time between two measurements, or 'off'.")
}
