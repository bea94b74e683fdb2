import type { ServerResponse } from 'node:http'
import { accessor, method, type OwnProperties } from './swapped-properties.js'

/**
 * Who hears what while a response is held. Who listened before hears of the connection. Who listens since then, such as a
 * pipeline of the handler, hears of what is held: a client that has gone away ends nothing that has begun.
 */
export interface HeldEvents {
  readonly properties: OwnProperties
  /** Whether the client has gone away, or somebody has cut it off. */
  isGone(): boolean
  /** Whether anything was piped in. */
  isPiped(): boolean
  onGone(listener: () => void): void
  /** Tells that everything is written. */
  finish(): void
  /** Lets a response that is itself again know what was hidden from it. */
  reveal(): void
  /** Tells who listens since then that the client has gone away, if it has. */
  tellGone(): void
}

export function heldEvents(response: ServerResponse): HeldEvents {
  const { emit, socket: connection } = response
  const before = { close: new Set(response.rawListeners('close')), finish: new Set(response.rawListeners('finish')) }
  const earlier = (event: Hidden) => response.rawListeners(event).filter((listener) => before[event].has(listener))
  const later = (event: Hidden) => response.rawListeners(event).filter((listener) => !before[event].has(listener))
  const hidden = new Map<string, unknown>()
  const goneListeners: (() => void)[] = []
  let isGone = response.destroyed
  let isPiped = false
  const isCut = () => isGone || response.req.socket?.destroyed === true
  const socket = () => (hidden.has('socket') ? hidden.get('socket') : connection)
  const hiding = (name: string) =>
    accessor(
      () => false,
      (value) => void hidden.set(name, value),
    )
  return {
    properties: {
      destroyed: hiding('destroyed'),
      _closed: hiding('_closed'),
      // Who sends a file asks it whether anybody is there.
      socket: accessor(
        () => (isCut() ? null : socket()),
        (value) => void hidden.set('socket', value),
      ),
      emit: method((event, ...given) => {
        isPiped ||= event === 'pipe'
        if (event !== 'close' && event !== 'finish') return Reflect.apply(emit, response, [event, ...given])
        for (const listener of earlier(event)) Reflect.apply(listener, response, given)
        if (event === 'close') {
          isGone = true
          for (const listener of goneListeners) listener()
        }
        return true
      }),
    },
    isGone: isCut,
    isPiped: () => isPiped,
    onGone: (listener) => void goneListeners.push(listener),
    finish() {
      for (const listener of later('finish')) {
        // It is told once, and not again when the bytes have left.
        response.off('finish', listener as () => void)
        Reflect.apply(listener, response, [])
      }
    },
    reveal: () => void Object.assign(response, Object.fromEntries(hidden)),
    tellGone() {
      if (isGone) for (const listener of later('close')) Reflect.apply(listener, response, [])
    },
  }
}

/** What ends a pipe or a pipeline into the response. */
type Hidden = 'close' | 'finish'
