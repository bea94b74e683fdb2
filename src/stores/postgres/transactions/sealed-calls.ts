import { endedTransaction } from '../faults.js'

/**
 * An object whose functions send, or give something that sends once somebody waits for it. Neither happens when nobody may
 * send any more. What lies in it, such as the tables that a tool knows, is sealed as well.
 */
export function sealedCalls<T extends object>(given: T, maySend: () => boolean): T {
  return new Proxy(given, {
    get(target, name) {
      const found = Reflect.get(target, name) as unknown
      if (typeof found === 'function') return name === 'constructor' ? found : called(target, found as Asks, maySend)
      return typeof found === 'object' && found !== null ? sealedCalls(found, maySend) : found
    },
  })
}

type Asks = (...given: never[]) => unknown

function called(self: object, asks: Asks, maySend: () => boolean) {
  return (...given: never[]) => {
    if (!maySend()) return Promise.reject(endedTransaction())
    return waitedFor(Reflect.apply(asks, self, given), maySend)
  }
}

/** A promise has been sent. Others are sent by whoever waits for them. */
function waitedFor(made: unknown, maySend: () => boolean): unknown {
  if (typeof made !== 'object' || made === null || made instanceof Promise) return made
  if (typeof (made as Partial<PromiseLike<unknown>>).then !== 'function') return made
  return new Proxy(made, {
    get(target, name) {
      const found = Reflect.get(target, name) as unknown
      if (typeof found !== 'function') return found
      return (...given: never[]) => {
        if (maySend()) return Reflect.apply(found, target, given)
        const late = Promise.reject(endedTransaction())
        return name === 'then' ? late.then(...given) : late
      }
    },
  })
}
