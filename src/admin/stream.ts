import type { Scope } from '../engine/scope.js'
import { scopeParts } from '../engine/scope.js'
import type { Clock } from '../kernel/clock.js'
import { type Emitter, eventNames } from '../kernel/events.js'
import { adminBounds } from '../kernel/limits.js'
import { Refused } from './refused.js'

/** Streams of events, each with a bounded buffer: who is too slow misses some, is told how many, and holds nobody up. */
export function eventStreams(events: Pick<Emitter, 'on'>, clock: Clock) {
  const open = new Set<() => void>()
  return {
    /** `lastId` is what a listener that comes back has heard last: what happened meanwhile is not kept, and it is told so. */
    open(signal: AbortSignal, tenants: 'every tenant' | readonly string[], lastId: string | null): Response {
      if (open.size >= adminBounds.streams)
        throw new Refused('busy', `There are ${adminBounds.streams} listeners already.`)
      const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
      const opened = (end: () => void) => {
        open.add(end)
        signal.addEventListener('abort', end)
        return () => {
          open.delete(end)
          signal.removeEventListener('abort', end)
        }
      }
      const body = streamOf(events, clock, { tenants, lastId, opened })
      return new Response(body, { headers })
    },
    close() {
      for (const end of [...open]) end()
    },
  }
}

interface Listener {
  readonly tenants: 'every tenant' | readonly string[]
  readonly lastId: string | null
  readonly opened: (end: () => void) => () => void
}

function streamOf(
  events: Pick<Emitter, 'on'>,
  clock: Clock,
  { tenants, lastId, opened }: Listener,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let letGo = () => {}
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let missed = 0
        let isOver = false
        // Counted for each listener: a number that all share would tell one how busy the others are.
        const stream = clock.now().toString(36)
        let sent = 0
        const send = (text: string) => controller.enqueue(encoder.encode(text))
        const tell = (name: string, data: object) =>
          send(`id: ${stream}.${++sent}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
        const hear = (name: string, event: object) => {
          if (!concerns(event, tenants)) return
          if ((controller.desiredSize ?? 0) <= 0) return void missed++
          if (missed > 0) tell('missed', { events: missed })
          missed = 0
          tell(name, { at: new Date(clock.now()).toISOString(), ...told(event) })
        }
        const deaf = eventNames.map((name) => events.on(name, (event) => hear(name, event)))
        let beat = clock.after(adminBounds.heartbeatMs, heartbeat, 'weakly')
        function heartbeat(): void {
          if ((controller.desiredSize ?? 0) > 0) send(':\n\n')
          beat = clock.after(adminBounds.heartbeatMs, heartbeat, 'weakly')
        }
        const end = () => {
          if (isOver) return
          isOver = true
          letGo()
          controller.close()
        }
        const closed = opened(end)
        letGo = () => {
          isOver = true
          beat()
          closed()
          for (const stopHearing of deaf) stopHearing()
        }
        send(`retry: ${adminBounds.streamRetryMs}\n: listening\n\n`)
        if (lastId !== null && lastId !== '') tell('missed', { since: lastId })
      },
      cancel() {
        letGo()
      },
    },
    { highWaterMark: adminBounds.streamedEvents },
  )
}

/** What is about nobody in particular is for those who see everybody. */
function concerns(event: object, tenants: 'every tenant' | readonly string[]): boolean {
  if (tenants === 'every tenant') return true
  const { scope } = event as { scope?: string }
  return scope !== undefined && tenants.includes(scopeParts(scope as Scope).tenant)
}

/** An error says more than an operator's screen should hold. */
function told(event: object): object {
  const { cause: _, ...rest } = event as { cause?: unknown }
  return rest
}
