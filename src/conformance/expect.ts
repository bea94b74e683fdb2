import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Verdict } from '../engine/verdict.js'

/**
 * Deep equality as the port means it: any kind of byte array is bytes, and an absent property is `undefined`.
 */
export function same(actual: unknown, expected: unknown, promise?: string): void {
  assert.deepEqual(plain(actual), plain(expected), promise)
}

/** The verdict, known to be of this kind. */
export function verdictOf<K extends Verdict['kind']>(verdict: Verdict, kind: K): Extract<Verdict, { kind: K }> {
  if (!isKind(verdict, kind)) assert.fail(`the verdict should be ${kind}, not ${verdict.kind}`)
  return verdict
}

/** The record, or whatever else it is, known to exist. */
export function present<T>(found: T | undefined): T {
  if (found === undefined) assert.fail('it is gone')
  return found
}

/** How many of these are of each kind: `{ reserved: 1, in_progress: 49 }`. */
export function tally(verdicts: readonly Verdict[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { kind } of verdicts) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

function isKind<K extends Verdict['kind']>(verdict: Verdict, kind: K): verdict is Extract<Verdict, { kind: K }> {
  return verdict.kind === kind
}

/** Long bytes are compared by digest, so that a failure prints a line and not a megabyte. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    const text =
      value.length > 1_024 ? createHash('sha256').update(value).digest('hex') : Buffer.from(value).toString('hex')
    return { bytes: value.length, text }
  }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(entries.map(([name, inner]) => [name, plain(inner)]))
}
