import type { Clock } from '../kernel/clock.js'
import { replayCacheBounds } from '../kernel/limits.js'
import type { RecordName, StoredAnswer } from './record.js'
import type { CachedReplay, KeptReplay, ReplayCache } from './replay-cache.js'

/** A cache that answers at once. */
export interface RecentReplays extends ReplayCache {
  find(name: RecordName): CachedReplay | undefined
  keep(replay: KeptReplay, forMs: number): void
}

interface Entry {
  readonly address: string
  /** Without its bytes. */
  readonly replay: KeptReplay
  readonly body: string
  readonly bytes: number
  readonly forMs: number
  /** On the monotonic clock, and on the wall. */
  readonly keptAt: number
  readonly keptNow: number
  /** What was kept right before it, and right after it. */
  previous: Entry | undefined
  next: Entry | undefined
}

/**
 * What this process remembers of recent answers, in so many bytes: those that came first go first, which are those that
 * are over first.
 *
 * How long something was kept is told by the monotonic clock, and by the clock on the wall as well: the first stands still
 * while a machine is suspended, the second may be set. What is too old by either is not given.
 */
export function recentReplays(clock: Clock, most: number): RecentReplays {
  const entries = new Map<string, Entry>()
  // The line is kept beside the map: to find the first in a map, node passes over all that was deleted before it.
  let first: Entry | undefined
  let last: Entry | undefined
  let held = 0

  function leftMs({ forMs, keptAt, keptNow }: Entry): number {
    const onTheWall = clock.now() - keptNow
    return onTheWall < 0 ? 0 : forMs - Math.max(clock.elapsed() - keptAt, onTheWall)
  }

  function add(entry: Entry): void {
    entries.set(entry.address, entry)
    held += entry.bytes
    if (entry.previous === undefined) first = entry
    else entry.previous.next = entry
    last = entry
  }

  function drop(entry: Entry): void {
    const { address, bytes, previous, next } = entry
    entries.delete(address)
    held -= bytes
    if (previous === undefined) first = next
    else previous.next = next
    if (next === undefined) last = previous
    else next.previous = previous
    // What is gone must not hold on to what comes after it.
    entry.next = undefined
  }

  /** Down to the bound, and then whatever is over at this end of the line. */
  function trim(): void {
    while (first !== undefined && (held > most || leftMs(first) <= 0)) drop(first)
  }

  return {
    find(name) {
      const entry = entries.get(addressOf(name))
      if (entry === undefined) return undefined
      const left = leftMs(entry)
      if (left <= 0) {
        drop(entry)
        return undefined
      }
      return { replay: withAnswer(entry.replay, withBody(entry.replay.answer, entry.body)), leftMs: left }
    },
    keep(replay, forMs) {
      const bytes = bytesOf(replay)
      if (forMs <= 0 || bytes > most) return
      const address = addressOf(replay)
      const before = entries.get(address)
      if (before !== undefined) {
        if (before.replay.generation > replay.generation && leftMs(before) > 0) return
        drop(before)
      }
      const { answer } = replay
      const own = withAnswer(replay, withoutBody(answer))
      const body = answer.kind === 'kept' ? textOf(answer.body) : ''
      const [keptAt, keptNow] = [clock.elapsed(), clock.now()]
      add({ address, replay: own, body, bytes, forMs, keptAt, keptNow, previous: last, next: undefined })
      trim()
    },
  }
}

/** Written out: a spread costs more, and every answer comes by here. */
function withAnswer(replay: KeptReplay, answer: StoredAnswer): KeptReplay {
  const { scope, key, generation, operation, fingerprint, answerVersion, expiresAt, trace } = replay
  return { scope, key, generation, operation, fingerprint, answer, answerVersion, expiresAt, trace }
}

/** A scope never holds a line break (it is escaped), so no two names share an address. */
function addressOf({ scope, key }: RecordName): string {
  return `${scope}\n${key}`
}

/**
 * Bytes are kept as a text, a character for each. Node cuts small buffers from a larger piece, and one that is kept would keep
 * all of it, with what others wrote there meanwhile: several kilobytes for each answer, which the collector of garbage counts.
 */
function textOf(body: Uint8Array): string {
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
}

function withoutBody(answer: StoredAnswer): StoredAnswer {
  const { status } = answer
  const headers = answer.headers.map(([name, value]) => [name, value] as const)
  if (answer.kind === 'withheld') return { kind: 'withheld', status, headers, bytes: answer.bytes }
  return { kind: 'kept', status, headers, body: nothing }
}

const nothing = new Uint8Array()

/** Whoever overwrites the bytes that he was given changes nothing for those who come later. */
function withBody(answer: StoredAnswer, body: string): StoredAnswer {
  if (answer.kind === 'withheld') return answer
  return { kind: 'kept', status: answer.status, headers: answer.headers, body: Buffer.from(body, 'latin1') }
}

/** About what an entry takes: two bytes for each character, and what its objects do. */
function bytesOf({ scope, key, answer }: KeptReplay): number {
  let characters = scope.length + key.length
  for (const [name, value] of answer.headers) characters += name.length + value.length
  return replayCacheBounds.entryBytes + 2 * characters + (answer.kind === 'kept' ? answer.body.byteLength : 0)
}
