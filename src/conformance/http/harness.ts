import type { Engine } from '../../engine/engine.js'
import type { ScopeParts } from '../../engine/scope.js'
import type { Store } from '../../engine/store.js'
import type { Work } from '../../engine/work.js'
import type { RouteOptions } from '../../http/route.js'

/**
 * What the suite must know about an adapter in order to judge it. Written once per adapter; the cases never mention a
 * framework.
 */
export interface HttpHarness {
  readonly name: string
  /** An empty store, for one case. */
  store(): Promise<Store>
  /** Guards the routes with the adapter under test and serves them on a port of the loopback. */
  serve(app: HttpApp): Promise<Served>
}

export interface Served {
  readonly port: number
  /** Ends every connection, then stops listening. */
  close(): Promise<void>
}

/** An application in no framework's words. It answers 404 where it has no route, and 500 when a handler throws. */
export interface HttpApp {
  readonly engine: Engine<never>
  readonly routes: readonly HttpRoute[]
}

export interface HttpRoute {
  /** Literal, without parameters. Every method of it goes to the guard. */
  readonly path: string
  readonly options: Omit<RouteOptions<unknown>, 'scope'>
  /** What the route's `scope` says, given a way to read the headers of the request. May throw. */
  readonly scope: (header: (name: string) => string | undefined) => string | ScopeParts
  readonly handler: (request: Handed) => Said | Promise<Said>
}

/** What a handler is given: the bytes of the body as they came, and its work. */
export interface Handed {
  readonly method: string
  readonly body: Uint8Array
  readonly work: Work
}

/** What a handler answers. A harness whose framework can stream sends an iterable as a stream; others collect it. */
export interface Said {
  readonly status: number
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>
  /** With `'commit'` the harness gives this answer inside of `work.commit`, in its framework's way. */
  readonly by?: 'return' | 'commit'
}
