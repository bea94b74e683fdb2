import type { Provider } from './catalogue.js'
import type { Journal } from './journal.js'
import type { Awaited, Entry, Line, ProviderEvent, Thing } from './words.js'

/** What a provider has done: made from its journal at start, and ahead of it by what is just being written. */
export interface Book {
  readonly provider: Provider
  readonly entries: readonly Entry[]
  readonly things: ReadonlyMap<string, Thing>
  /** Objects that are not final yet. */
  readonly awaited: ReadonlyMap<string, Awaited>
  /** Events in order, and whether somebody has taken them. */
  readonly events: ReadonlyMap<string, KeptEvent>
  /** The first request under each key: an effect, or a decline. */
  readonly calls: ReadonlyMap<string, Call>
  /** Applies a change at once and resolves when it is on disk. Whoever tells of it waits for that. */
  write(line: Line): Promise<void>
  /** Whoever tells of what is in here waits for this first: it may be ahead of the disk. */
  flushed(): Promise<void>
  close(): Promise<void>
}

export type Call = (Extract<Line, { kind: 'effect' }> & { readonly at: string }) | Extract<Line, { kind: 'declined' }>

export interface KeptEvent {
  readonly event: ProviderEvent
  readonly state: 'pending' | 'delivered' | 'abandoned'
}

export function bookOf(provider: Provider, journal: Journal<Line>): Book {
  const entries: Entry[] = []
  const things = new Map<string, Thing>()
  const awaited = new Map<string, Awaited>()
  const events = new Map<string, KeptEvent>()
  const calls = new Map<string, Call>()

  function apply(line: Line): void {
    switch (line.kind) {
      case 'effect': {
        const { entry, thing } = line
        entries.push(entry)
        remember(entry.key, { ...line, at: entry.at })
        become(thing, line.event, line.awaited)
        return
      }
      case 'declined':
        remember(line.key, line)
        return
      case 'settled':
        become(line.thing, line.event)
        return
      case 'delivered':
      case 'abandoned': {
        const kept = events.get(line.event)
        if (kept !== undefined) events.set(line.event, { ...kept, state: line.kind })
        return
      }
    }
  }

  /** The first request under a key is the one that counts, until its time is over. */
  function remember(key: string | null, call: Call): void {
    const first = calls.get(key ?? '')
    const forgetAfterMs = provider.honoursKeysForMs ?? Number.POSITIVE_INFINITY
    const isOver = first === undefined || Date.parse(call.at) - Date.parse(first.at) >= forgetAfterMs
    if (key !== null && isOver) calls.set(key, call)
  }

  function become(thing: Thing, event?: ProviderEvent, next?: Awaited): void {
    things.set(thing.id, thing)
    if (next === undefined) awaited.delete(thing.id)
    else awaited.set(thing.id, next)
    if (event !== undefined) events.set(event.id, { event, state: 'pending' })
  }

  journal.lines.forEach(apply)
  return {
    provider,
    entries,
    things,
    awaited,
    events,
    calls,
    write(line) {
      apply(line)
      return journal.append(line)
    },
    flushed: journal.flushed,
    close: journal.close,
  }
}
