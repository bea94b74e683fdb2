import type { Emitter } from './events.js'

/**
 * How guarded requests are traced: `openTelemetryTracing()` of `hapax/telemetry/opentelemetry`, or your own. An engine without
 * one builds and stores nothing for it.
 */
export interface Tracing {
  /** Begins the trace of one request, below whatever is traced where this is called. */
  begin(about: TraceAbout): Trace
  /** Is called once, by the engine: what happens within a request is told as an event. */
  hear?(events: Pick<Emitter, 'tally'>): void
}

export interface TraceAbout {
  readonly operation: string
  /** A request, or a worker that goes on with one. */
  readonly kind: 'request' | 'resumption'
  /** The `traceparent` of the run before, where a worker goes on with it. */
  readonly goesOnFrom?: string | undefined
}

/** One request, while it is traced. */
export interface Trace {
  /** What is kept with the record, so that replays can be linked to it; `undefined` where nobody will see it. */
  readonly traceparent: string | undefined
  /** Calls `body` in such a way that what is traced within it stands below this. */
  within<T>(body: () => T): T
  /** Ends it. How it ended is only made for those who want to know. */
  end(how: () => TraceEnd): void
}

/** How a traced request ended. */
export interface TraceEnd {
  /** A digest of scope and key, as in events. */
  readonly record: string
  readonly outcome: 'ran' | 'replayed' | 'accepted' | 'refused' | 'threw'
  /** Of an answer. */
  readonly status?: number
  readonly generation?: number
  /** Of a refusal or an error. Never its message, which may hold data. */
  readonly errorCode?: string
  /** The `traceparent` of the run that made the answer, where this was another. */
  readonly madeBy?: string | undefined
}
