import { type Awaitable, after, attempted } from '../kernel/awaitable.js'
import type { TraceAbout, TraceEnd, Tracing } from '../kernel/tracing.js'
import { digestHex } from './digest.js'
import { codeOf } from './name.js'
import type { Outcome } from './outcome.js'
import type { RecordName } from './record.js'

/** Runs a request in a trace of its own. `run` is given what is to be kept with the record. */
export function traced<T>(
  tracing: Tracing,
  about: TraceAbout,
  run: (traceparent: string | undefined) => Awaitable<T>,
  endOf: (came: T) => TraceEnd,
  name: RecordName,
): Awaitable<T> {
  const trace = tracing.begin(about)
  return attempted(
    () =>
      after(
        trace.within(() => run(trace.traceparent)),
        (came) => {
          trace.end(() => endOf(came))
          return came
        },
      ),
    (error) => {
      trace.end(() => ({ record: digestHex(name), outcome: 'threw', errorCode: codeOf(error) }))
      throw error
    },
  )
}

/** An outcome as a trace shows it. */
export function traceEndOf(name: RecordName, outcome: Outcome): TraceEnd {
  const record = digestHex(name)
  switch (outcome.kind) {
    case 'answered': {
      const { answer, generation, replayed, trace } = outcome
      const about = { record, status: answer.status, generation }
      return replayed ? { ...about, outcome: 'replayed', madeBy: trace } : { ...about, outcome: 'ran' }
    }
    case 'accepted':
      return { record, outcome: 'accepted' }
    case 'refused':
      return { record, outcome: 'refused', errorCode: outcome.error.code }
    case 'threw':
      return { record, outcome: 'threw', errorCode: codeOf(outcome.error) }
  }
}
