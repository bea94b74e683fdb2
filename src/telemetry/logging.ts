import type { Emitter, EventName, Events } from '../kernel/events.js'
import type { Log } from '../kernel/log.js'
import { type EventLevel, type LogLevel, levels } from './levels.js'

/** What is needed of a logger: pino has it, and so have those that are like it. */
export type PinoLike = Readonly<Record<LogLevel, (fields: object, message: string) => unknown>> & {
  /** What nobody would write is not built. */
  isLevelEnabled?(level: string): boolean
}

/**
 * Where an engine logs, for a logger like pino: each line has its `code`.
 *
 * @example
 * const hapax = engine({ store, log: pinoLog(pino()) })
 */
export function pinoLog(logger: PinoLike): Log {
  return ({ level, code, message }) => void logger[level]({ code }, message)
}

export interface LogEventsOptions {
  /** Levels of your own, by event; `'off'` leaves one out. */
  readonly levels?: Partial<Readonly<Record<EventName, EventLevel>>>
}

/**
 * Writes what an engine tells to a logger like pino, one line for each event, with its fields. No line holds a key, a body or
 * a token. The function returned stops it.
 *
 * @example
 * const stop = logEvents(hapax, pino())
 */
export function logEvents(
  { events }: { readonly events: Pick<Emitter, 'on'> },
  logger: PinoLike,
  options: LogEventsOptions = {},
): () => void {
  const all = { ...levels, ...options.levels }
  const deaf = (Object.keys(all) as EventName[]).flatMap((name) => {
    const level = all[name]
    if (level === 'off' || logger.isLevelEnabled?.(level) === false) return []
    return [events.on(name, (event) => void logger[level]({ event: name, ...fieldsOf(event) }, `hapax ${name}`))]
  })
  return () => {
    for (const stop of deaf) stop()
  }
}

/** What a database says in an error is its own affair, and may hold what it was asked: only its name and its code are told. */
function fieldsOf(event: Events[EventName]): object {
  if (!('cause' in event)) return event
  const { cause, ...fields } = event
  const { name, code } = (cause ?? {}) as { readonly name?: unknown; readonly code?: unknown }
  return { ...fields, cause: [name, code].filter((word) => typeof word === 'string').join(' ') }
}
