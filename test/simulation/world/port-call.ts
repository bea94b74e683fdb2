import type { Process } from './process.js'

/**
 * One call to a port: what a simulated part asks of the world, which says when it happens, and how it ends. It happens in one
 * instant. Its request may take any time, or be lost, and so may its reply.
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
  /** The same where the request is on its way, and will arrive, or has arrived and waits. Without it, it never is. */
  readonly adrift?: (() => Error) | undefined
  /** It leaves nothing behind when the line breaks: that its reply was lost is as if it had not happened. */
  readonly isTraceless?: boolean
  /** Nothing depends on when it happens: of all schedules, those in which it happens at once are as good as any. */
  readonly isUrgent?: boolean
  /** Nobody waits for its reply. */
  readonly isUnheeded?: true | undefined
  /** Whether the server may end it instead: it has begun with it. */
  readonly isCancellable?: () => boolean
  /** The server ends it, and says so. */
  readonly cancel?: () => T
  /** The world's time after which it can no longer happen: nothing is on its way to a provider for ever. */
  readonly until?: number | undefined
  /** Whether the caller learns that it changed nothing. */
  isInVain?(value: T): boolean
  /** What it has seen so far, in short, for telling states apart. */
  readonly saw?: () => string
  /** What the caller learns, in short, for telling runs apart. */
  readonly digest?: (value: T) => string
}

/** What simulated parts need of a world. */
export interface Ports {
  /** The database's time in milliseconds. */
  now(): number
  call<T>(call: PortCall<T>): Promise<T>
}

/** Lets it happen, and tells at once: a refusal is an answer, too. */
export function happens(
  call: Pick<PortCall<unknown>, 'happen'>,
  resolve: (value: unknown) => void,
  reject: (error: unknown) => void,
): void {
  let value: unknown
  try {
    value = call.happen()
  } catch (error) {
    reject(error)
    return
  }
  resolve(value)
}
