import { isRefused } from '../admin/refused.js'
import { sleep, systemClock } from '../kernel/clock.js'
import { isHapaxError } from '../kernel/errors.js'
import { linesOf } from './lines.js'

/** An event of a stream, as it came. */
export interface Followed {
  readonly name: string
  readonly data: unknown
}

/** How long a stream that has ended is tried again: an application that is deployed anew is back by then. */
const patienceMs = 60_000
/** Until the server says otherwise. */
const retryMs = 2_000

/**
 * The events of a stream, and of those that follow it: an application that is started again ends its stream. `open` is given
 * the id of the last event, for the server to say that some were missed. Ends when the signal aborts; throws once the server
 * was away for too long, or lets nobody in.
 */
export async function* followed(
  open: (lastId: string | undefined) => Promise<ReadableStream<Uint8Array>>,
  signal: AbortSignal,
  tell: (what: 'lost' | 'back') => void,
): AsyncGenerator<Followed> {
  const last: Last = { id: undefined, retryMs, heardAt: systemClock.elapsed() }
  let wasThere = false
  let isLost = false
  while (!signal.aborted) {
    try {
      const body = await open(last.id)
      wasThere = true
      if (isLost) tell('back')
      isLost = false
      yield* eventsIn(body, last)
    } catch (error) {
      if (signal.aborted) return
      const isAway = !isRefused(error) && (!isHapaxError(error) || error.retryable)
      if (!wasThere || !isAway || systemClock.elapsed() - last.heardAt > patienceMs) throw error
    }
    if (!isLost && !signal.aborted) tell('lost')
    isLost = true
    await sleep(systemClock, last.retryMs, signal)
  }
}

interface Last {
  id: string | undefined
  retryMs: number
  heardAt: number
}

async function* eventsIn(body: ReadableStream<Uint8Array>, last: Last): AsyncGenerator<Followed> {
  let name = 'message'
  for await (const line of linesOf(textOf(body))) {
    last.heardAt = systemClock.elapsed()
    const [, field, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (field === 'id') last.id = value
    if (field === 'retry' && /^\d{1,5}$/.test(value)) last.retryMs = Number(value)
    if (field === 'event') name = value
    if (field === 'data') yield { name, data: JSON.parse(value) }
  }
}

async function* textOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const bytes of body) yield decoder.decode(bytes, { stream: true })
}
