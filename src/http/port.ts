/**
 * What it takes to write an adapter for another framework: translate its requests into an `Exchange`, check the options
 * of a route once with `routeOf`, hand both to `handle`, and send the reply that comes out. The HTTP suite of
 * `hapax/conformance` says whether it is right.
 */
export type { Engine } from '../engine/engine.js'
export type { Work } from '../engine/work.js'
export { isAdded } from './added-headers.js'
export { tooLarge } from './content-encoding.js'
export { handle } from './door.js'
export { refuseEventStream } from './event-stream.js'
export type { Exchange, Handled, Reply } from './exchange.js'
export { guardMark, marked } from './guard-mark.js'
export {
  type AnyOperationRoute,
  type GuardedMethod,
  type OperationRouteOptions,
  type Route,
  type RouteOptions,
  routeOf,
} from './route.js'
