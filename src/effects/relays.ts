import type { Relay, RelayMessage } from '../engine/effect-definition.js'
import { type Clock, systemClock } from '../kernel/clock.js'
import { type Duration, parseDuration } from '../kernel/duration.js'
import { defaults } from '../kernel/limits.js'

/**
 * Ways to hand effects over to something else that moves work around. None of them is trusted: a message that is lost is
 * sent again when the row is due, and one that comes twice finds the row taken or done. So nothing here dedupes.
 */

/** What is used of pg-boss. */
export interface BossShape {
  send(queue: string, data: object): Promise<unknown>
}

/** A queue of pg-boss. Its worker calls `carryOut(job.data.effectId)`. */
export function pgBossRelay(boss: BossShape, queue: string): Relay {
  return async (message) => {
    await boss.send(queue, message)
  }
}

/** What is used of a queue of BullMQ. */
export interface QueueShape {
  add(name: string, data: RelayMessage): Promise<unknown>
}

/** A queue of BullMQ. A job has no id of ours: the queue would swallow the second message of an effect. */
export function bullmqRelay(queue: QueueShape): Relay {
  return async (message) => {
    await queue.add(message.kind, message)
  }
}

export interface HttpRelayOptions {
  /** Signs each message as the Standard Webhooks say, an HMAC with SHA-256 over id, time and body: `whsec_` and Base64. */
  readonly secret: string
  /** How long the endpoint may take to answer. Default `'10s'`. */
  readonly timeout?: Duration
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  readonly clock?: Clock
}

/** An endpoint that answers 2xx once it has the message. It verifies the signature before it believes anything. */
export function httpRelay(url: string, options: HttpRelayOptions): Relay {
  const { secret, timeout, fetch: send = fetch, clock = systemClock } = options
  const timeoutMs = timeout === undefined ? defaults.callTimeoutMs : parseDuration(timeout, 'timeout of httpRelay')
  const key = crypto.subtle.importKey('raw', secretBytes(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return async (message) => {
    const body = JSON.stringify(message)
    const id = `effect_${message.effectId}`
    const time = String(Math.floor(clock.now() / 1_000))
    const signed = await crypto.subtle.sign('HMAC', await key, encoder.encode(`${id}.${time}.${body}`))
    const enough = new AbortController()
    const cancel = clock.after(timeoutMs, () =>
      enough.abort(failure('The endpoint did not answer in time.', 'timeout')),
    )
    try {
      const response = await send(url, {
        method: 'POST',
        redirect: 'error',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': time,
          'webhook-signature': `v1,${btoa(String.fromCharCode(...new Uint8Array(signed)))}`,
        },
        body,
        signal: enough.signal,
      })
      await response.body?.cancel()
      if (!response.ok) throw failure('The endpoint did not take it.', `http_${response.status}`)
    } catch (error) {
      throw named(error)
    } finally {
      cancel()
    }
  }
}

function failure(message: string, code: string): Error {
  return Object.assign(new Error(message), { code })
}

/** Whoever is not reached is told by `fetch` as a TypeError, and why only by its cause. */
function named(error: unknown): unknown {
  const { cause } = (error ?? {}) as { readonly cause?: { readonly code?: unknown } }
  return error instanceof TypeError && typeof cause?.code === 'string'
    ? failure('The endpoint was not reached.', cause.code)
    : error
}

const encoder = new TextEncoder()

/** A secret that is not written as the standard says is taken as it is. */
function secretBytes(secret: string): Uint8Array<ArrayBuffer> {
  if (!secret.startsWith('whsec_')) return encoder.encode(secret)
  return Uint8Array.from(atob(secret.slice('whsec_'.length)), (character) => character.charCodeAt(0))
}
