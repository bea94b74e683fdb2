import type { Duration } from '../kernel/duration-text.js'
import { queueBounds } from '../kernel/queue-limits.js'
import { ClientError, type ClientErrorCode, isClientError, type Resume } from './errors.js'
import { idempotentFetch } from './idempotent-fetch.js'
import { keyOf } from './operation-key.js'
import { atLeast, type CallOptions, type ClientOptions, milliseconds, settingsOf } from './options.js'
import type { QueuedOperation, QueueStorage } from './queue-storage.js'
import { keptHeaders } from './queued-headers.js'
import { type FetchInput, type SealedRequest, sealedRequest } from './sealed-request.js'

export interface QueueOptions extends ClientOptions {
  readonly storage: QueueStorage
  /**
   * Takes note of an answer. Only then the operation is forgotten: after a crash in between it is called again, for the same
   * key. The body can be read here and by who sent it.
   */
  readonly onAnswer?: (response: Response, operation: QueuedOperation) => void | Promise<void>
  /** Headers that are stored beside those that describe the body. No secrets: those come from `headers`. */
  readonly keepHeaders?: readonly string[]
  /** An older operation is not sent any more: well below the time that the server keeps keys. */
  readonly maxAge?: Duration
  readonly maxOperations?: number
}

export interface QueueCallOptions extends CallOptions {
  /** What the application wants to know again when the answer comes, such as an id. */
  readonly note?: string
}

/** What came of one operation in a pass. What is `open` is sent again by the next; what `failed` waits for a person. */
export type Resumed =
  | { readonly kind: 'answered'; readonly operation: QueuedOperation; readonly response: Response }
  | { readonly kind: 'open' | 'failed'; readonly operation: QueuedOperation; readonly error: unknown }

export interface DurableQueue {
  /** As `idempotentFetch`; but what changes something is durable, with its key, before its first byte is sent. */
  send(input: FetchInput, init?: RequestInit, call?: QueueCallOptions): Promise<Response>
  /** One pass over what is open: sends it with the key that it had. At start, and whenever the network is back. */
  resume(): Promise<readonly Resumed[]>
  /** What is open, and what failed for good. */
  list(): Promise<readonly QueuedOperation[]>
  /** Forgets an operation, whatever became of it. */
  discard(key: string): Promise<void>
}

/**
 * A `fetch` whose operations survive the process.
 *
 * @example
 * const queue = durableQueue({ storage: fileStorage('outgoing'), headers: () => ({ authorization: token() }) })
 * await queue.resume()
 * await queue.send('https://api.example.com/payments', { method: 'POST', body }, { note: order.id })
 */
export function durableQueue(options: QueueOptions): DurableQueue {
  const { storage, onAnswer, keepHeaders = [] } = options
  const maxOperations = atLeast(1, options.maxOperations ?? queueBounds.entries, 'maxOperations')
  const maxAgeMs = milliseconds(options.maxAge, 'maxAge', queueBounds.ageMs)
  const settings = settingsOf(options)
  const send = idempotentFetch(options)
  const underWay = new Set<string>()
  let pass: Promise<readonly Resumed[]> | undefined

  async function kept(request: SealedRequest, key: string, note: string | undefined): Promise<QueuedOperation> {
    const { method, url, headers, body, credentials, redirect } = request
    const operation: QueuedOperation = {
      ...{ key, method, url, credentials, redirect, createdAt: settings.clock.now() },
      headers: keptHeaders(headers, [settings.header, ...keepHeaders]),
      ...(body && { body: new Uint8Array(body) }),
      ...(note !== undefined && { note }),
    }
    if ((body?.byteLength ?? 0) > queueBounds.bodyBytes || (await storage.count()) >= maxOperations)
      throw new ClientError('queue_full', undefined, { key })
    await storage.put(operation)
    return operation
  }

  /**
   * The operation that the queue has under a key of the caller's. It stays what it is: its age counts from its first sending,
   * and another request under its key would take its place.
   */
  async function found(request: SealedRequest, key: string): Promise<QueuedOperation | undefined> {
    const operation = (await storage.list()).find((stored) => stored.key === key)
    if (operation === undefined) return undefined
    if (!isOf(operation, request)) throw new ClientError('key_reused', undefined, { key })
    if (operation.failed !== undefined) throw new ClientError(operation.failed, undefined, { key })
    return operation
  }

  function deadlineOf({ deadline }: CallOptions): number {
    return milliseconds(deadline, 'deadline', settings.deadlineMs)
  }

  /** However long a call may take, nothing is sent once its operation is too old. */
  async function sent(operation: QueuedOperation, call: CallOptions, signal?: AbortSignal): Promise<Response> {
    const { key, url, method, headers, body, credentials, redirect, createdAt } = operation
    const leftMs = maxAgeMs - (settings.clock.now() - createdAt)
    if (leftMs < 0) throw new ClientError('key_expired', undefined, { key })
    const isShort = leftMs < deadlineOf(call)
    return send(
      url,
      { method, headers: [...headers], credentials, redirect, ...(signal && { signal }), ...(body && { body }) },
      { ...call, key, ...(isShort && { deadline: `${Math.max(1, Math.floor(leftMs / 1_000))}s` as const }) },
    )
  }

  async function delivered(operation: QueuedOperation, call: CallOptions, signal?: AbortSignal): Promise<Response> {
    const { key } = operation
    underWay.add(key)
    try {
      const response = await sent(operation, call, signal).catch((error: unknown) => unanswered(operation, error))
      await onAnswer?.(response.clone(), operation)
      // What could not be removed is asked for once more, and answered the same.
      await storage.remove(key).catch(() => {})
      return response
    } finally {
      underWay.delete(key)
    }
  }

  /** What could not be stored as failed is sent once more, and refused the same. Whoever goes on does so by the queue. */
  async function unanswered(operation: QueuedOperation, error: unknown): Promise<never> {
    if (!isClientError(error)) throw error
    const { code, message, key, cause } = error
    if (final.has(code)) await storage.put({ ...operation, failed: code }).catch(() => {})
    if (error.resume === undefined) throw error
    const resume: Resume = ({ signal } = {}) => delivered(operation, {}, signal)
    throw new ClientError(code, message, { ...error, key, cause, resume })
  }

  async function resumed(operation: QueuedOperation): Promise<Resumed> {
    try {
      return { kind: 'answered', operation, response: await delivered(operation, {}) }
    } catch (error) {
      return { kind: isClientError(error) && final.has(error.code) ? 'failed' : 'open', operation, error }
    }
  }

  async function passed(): Promise<readonly Resumed[]> {
    const before = new Set(underWay)
    const all = await storage.list()
    const open = all.filter(({ key, failed }) => failed === undefined && !before.has(key) && !underWay.has(key))
    const rest = open.toSorted((a, b) => a.createdAt - b.createdAt).values()
    const found: Resumed[] = []
    const lane = async () => {
      for (const operation of rest) found.push(await resumed(operation))
    }
    await Promise.all(Array.from({ length: queueBounds.atOnce }, lane))
    return found
  }

  return {
    async send(input, init, call = {}) {
      const request = await sealedRequest(input, init, settings.clock, deadlineOf(call))
      const key = keyOf(request, call, settings)
      if (key === undefined) return send(input, init, call)
      // What was given up before it began is not stored either.
      request.signal?.throwIfAborted()
      const stored = key.chosen ? await found(request, key.value) : undefined
      return delivered(stored ?? (await kept(request, key.value, call.note)), call, request.signal)
    },
    resume() {
      pass ??= passed().finally(() => {
        pass = undefined
      })
      return pass
    },
    list: () => storage.list(),
    discard: (key) => storage.remove(key),
  }
}

function isOf(operation: QueuedOperation, { method, url, body }: SealedRequest): boolean {
  const [stored, asked] = [operation.body ?? [], new Uint8Array(body ?? new ArrayBuffer(0))]
  const isSameBody = stored.length === asked.length && asked.every((byte, index) => byte === stored[index])
  return operation.method === method && operation.url === url && isSameBody
}

/** The same request can never do better. */
const final: ReadonlySet<ClientErrorCode> = new Set([
  'key_reused',
  'key_rejected',
  'key_expired',
  'answer_withheld',
] as const)
