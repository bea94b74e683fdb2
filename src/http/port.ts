/** What an adapter needs to translate a framework into the door's terms. */
export type { Engine } from '../engine/engine.js'
export type { Work } from '../engine/work.js'
export { isAdded } from './added-headers.js'
export { tooLarge } from './content-encoding.js'
export { refuseEventStream } from './event-stream.js'
export type { Exchange, Handled, Reply } from './exchange.js'
export { type RouteOptions, routeOf } from './route.js'
