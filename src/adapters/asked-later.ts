import type { ServerResponse } from 'node:http'
import { callbackIn } from './given-callback.js'
import { method, type OwnProperties } from './swapped-properties.js'

/** What Express reads from a disk before it writes anything. A view with a callback is no answer yet. */
export function askedLater(response: ServerResponse, onAsked: () => void): OwnProperties {
  const asking = ['sendFile', 'sendfile', 'download', 'render'].flatMap((name) => {
    if (!(name in response)) return []
    const own = Object.getOwnPropertyDescriptor(response, name)
    const asked = method((...given) => {
      if (name !== 'render' || callbackIn(given) === undefined) onAsked()
      // An application behind the guard brings a prototype of its own.
      return Reflect.apply(own?.value ?? Reflect.get(Object.getPrototypeOf(response), name), response, given)
    })
    return [[name, asked] as const]
  })
  return Object.fromEntries(asking)
}
