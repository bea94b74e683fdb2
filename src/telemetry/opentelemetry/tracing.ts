import {
  type Attributes,
  context,
  createContextKey,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { EventName, Tallied } from '../../kernel/events.js'
import type { Trace, TraceEnd, Tracing } from '../../kernel/tracing.js'
import { spanContextOf, traceparentOf } from './traceparent.js'

export interface OpenTelemetryTracingOptions {
  /** Default: the tracer `hapax` of the global provider. */
  readonly tracer?: Tracer
}

/**
 * A span for every guarded request, below whatever span is active where it comes in, with its handler inside. A replay has a
 * link to the span of the run that made its answer, in whatever trace that was, and so has a resumption to the run before.
 * Keys are in it as digests only; neither scopes nor messages of errors are in it at all.
 *
 * @example
 * const hapax = engine({ store, tracing: openTelemetryTracing() })
 */
export function openTelemetryTracing({ tracer = trace.getTracer('hapax') }: OpenTelemetryTracingOptions = {}): Tracing {
  return {
    begin({ operation, kind, goesOnFrom }) {
      const links = linksTo(goesOnFrom)
      const attributes = { 'hapax.operation': operation, 'hapax.kind': kind }
      // A worker goes on in nobody's request, whatever it was that woke it.
      const parent = kind === 'resumption' ? ROOT_CONTEXT : context.active()
      const span = tracer.startSpan(`hapax ${operation}`, { attributes, links }, parent)
      return traceOf(span)
    },
    hear(events) {
      for (const name of shown) events.tally(name, (event) => show(name, event))
    },
  }
}

/** Where what happens within a request finds its span, whatever spans the handler has begun since. */
const ours = createContextKey('hapax span')

function traceOf(span: Span): Trace {
  return {
    traceparent: span.spanContext().traceFlags & TraceFlags.SAMPLED ? traceparentOf(span.spanContext()) : undefined,
    within(body) {
      const around = context.active()
      const below = trace.setSpan(around, span)
      // A span that nobody keeps takes no marks, and is only there for those below it.
      const marked = span.isRecording() ? span : undefined
      return context.with(around.getValue(ours) === marked ? below : below.setValue(ours, marked), body)
    },
    end(how) {
      if (span.isRecording()) describe(span, how())
      span.end()
    },
  }
}

function describe(span: Span, { record, outcome, status, generation, errorCode, madeBy }: TraceEnd): void {
  span.setAttributes({
    'hapax.record': record,
    'hapax.outcome': outcome,
    ...(status !== undefined && { 'hapax.status': status }),
    ...(generation !== undefined && { 'hapax.generation': generation }),
    ...(errorCode !== undefined && { 'hapax.error_code': errorCode }),
  })
  for (const link of linksTo(madeBy)) span.addLink(link)
  if (outcome === 'threw') span.setStatus({ code: SpanStatusCode.ERROR })
}

function linksTo(traceparent: string | undefined): Link[] {
  const spanContext = traceparent === undefined ? undefined : spanContextOf(traceparent)
  return spanContext === undefined ? [] : [{ context: spanContext }]
}

/** What happens between the beginning and the end of a request, and is worth a mark on its span. */
const shown = [
  'reserved',
  'resumed',
  'phase_committed',
  'call_landed',
  'call_failed',
  'effects_written',
  'failed',
  'doubted',
  'swept',
  'released',
  'claim_lost',
  'overran',
  'withheld',
  'reservation_failed',
] as const satisfies readonly EventName[]

function show<Name extends (typeof shown)[number]>(name: Name, event: Tallied<Name>): void {
  const span = context.active().getValue(ours) as Span | undefined
  if (span?.isRecording()) span.addEvent(`hapax.${name}`, detailsOf(event))
}

/** Without whose it is, which the span does not say either. */
function detailsOf({
  scope: _,
  record: __,
  operation: ___,
  ...details
}: Readonly<Record<string, unknown>>): Attributes {
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [`hapax.${name}`, value])) as Attributes
}
