import type { SpanContext } from '@opentelemetry/api'

/** A place in a trace as W3C Trace Context writes it: 55 characters. */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

/** `undefined` for what no release of ours has written. */
export function spanContextOf(traceparent: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
}
