import type { ClientErrorCode } from './errors.js'

/** One operation as it is stored: all that is needed to send it again, and no secrets. */
export interface QueuedOperation {
  /** As it stands in the header. Unique in a queue. */
  readonly key: string
  readonly method: string
  readonly url: string
  readonly headers: readonly [name: string, value: string][]
  readonly body?: Uint8Array<ArrayBuffer>
  readonly credentials: Request['credentials']
  readonly redirect: Request['redirect']
  /** By the clock of this machine, in milliseconds since 1970. */
  readonly createdAt: number
  readonly note?: string
  /** Why it is not sent any more. */
  readonly failed?: ClientErrorCode
}

/** Where a queue keeps its operations. Several processes, or pages, may share one. */
export interface QueueStorage {
  /** Stores, in the place of one with the same key. Durable when it resolves. */
  put(operation: QueuedOperation): Promise<void>
  remove(key: string): Promise<void>
  list(): Promise<readonly QueuedOperation[]>
  count(): Promise<number>
}
