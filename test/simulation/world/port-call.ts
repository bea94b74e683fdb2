import type { Process } from './process.js'

/**
 * One call to a port: what a simulated part asks of the world, which says when it happens, and how it ends. It happens in one
 * instant. Whatever calls a port may wait for ever, lose its request, or lose the reply.
 */
export interface PortCall<T> {
  readonly process: Process
  readonly port: 'store' | 'network' | 'provider' | 'agenda'
  /** `node 1 reserves k1`: a trace is made of these. */
  readonly words: () => string
  /** Whether it can happen now. A statement that waits for a lock cannot. */
  readonly isReady?: () => boolean
  readonly happen: () => T
  /** What the caller is told when the line breaks. Without it, the line does not break. */
  readonly broken?: () => Error
  /** The world's time after which it can no longer happen: nothing is on its way for ever. */
  readonly until?: number
  /** What the caller learns, in short, for telling runs apart. */
  readonly digest?: (value: T) => string
}

/** What simulated parts need of a world. */
export interface Ports {
  /** The world's time in milliseconds, which is also the database's. */
  now(): number
  call<T>(call: PortCall<T>): Promise<T>
}
