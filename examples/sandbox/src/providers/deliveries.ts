import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Book } from './book.js'
import type { Sign } from './signatures.js'
import type { ProviderEvent } from './words.js'

/** Brings the events of one provider to whoever takes them. */
export interface Deliveries {
  /** Delivers an event until it is taken, or was offered too often. */
  deliver(event: ProviderEvent): void
  /** How often an event was offered since the process began. */
  attempts(eventId: string): number
  /** Whatever rests between two attempts is offered now: the other side has come back. */
  wake(): void
  stop(): void
}

/** Pauses double, and a receiver that stays away for ten minutes is given up. */
const pauses = { firstMs: 250, mostMs: 30_000, attempts: 30 }
const answerWithinMs = 10_000
const atOnce = 8

export function deliveriesOf(book: Book, sign: Sign, targets: () => readonly string[]): Deliveries {
  const counts = new Map<string, number>()
  const slots = slotsOf(atOnce)
  const stopped = new AbortController()
  let resting = restingTime()

  async function deliver(event: ProviderEvent): Promise<void> {
    for (let attempt = 0; attempt < pauses.attempts; ) {
      const urls = targets()
      const url = urls[attempt % urls.length]
      if (url !== undefined) {
        counts.set(event.id, (counts.get(event.id) ?? 0) + 1)
        const isTaken = await slots(() => offer(url, event))
        // Not written down, it comes once more: better than to write to a file that is closed.
        if (stopped.signal.aborted) return
        if (isTaken) return void book.write({ kind: 'delivered', event: event.id })
        attempt++
      }
      const ms = Math.min(pauses.firstMs * 2 ** attempt, pauses.mostMs)
      await delay(url === undefined ? pauses.mostMs : ms, undefined, { signal: resting.signal, ref: false }).catch(
        awake,
      )
      if (stopped.signal.aborted) return
    }
    void book.write({ kind: 'abandoned', event: event.id })
  }

  /** Whether it was taken. */
  async function offer(url: string, event: ProviderEvent): Promise<boolean> {
    const body = JSON.stringify(event)
    const headers = { 'content-type': 'application/json', ...sign(event.id, body) }
    const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(answerWithinMs)])
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
      await response.arrayBuffer()
      return response.ok
    } catch {
      return false
    }
  }

  const wake = () => {
    resting.abort()
    resting = restingTime()
  }
  return {
    deliver: (event) => void deliver(event).catch((error: unknown) => console.error('a delivery failed:', error)),
    attempts: (eventId) => counts.get(eventId) ?? 0,
    wake,
    stop() {
      stopped.abort()
      wake()
    },
  }
}

function awake(): void {}

/** Any number of deliveries may rest at once. */
function restingTime(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}

/** Lets so many run at a time; the others wait their turn. */
function slotsOf(count: number): <T>(run: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let free = count
  return async (run) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await run()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
