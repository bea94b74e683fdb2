import { HapaxError } from '../kernel/errors.js'
import type { FingerprintSource } from './fingerprint/source.js'
import type { Outcome } from './outcome.js'
import type { Policy } from './policy.js'
import type { Answer } from './record.js'

/**
 * How a plain function is guarded like a route: its input and its result travel as JSON. The result passes through
 * JSON on the first run too, so that a replay cannot differ from it.
 */

/** What is left of a value that passed through JSON: a Date is a text, what JSON leaves out is gone. */
export type Jsonified<T> = T extends Plain
  ? T
  : T extends { toJSON(): infer J }
    ? Jsonified<J>
    : T extends readonly unknown[]
      ? { [K in keyof T]: Jsonified<T[K]> }
      : T extends object
        ? { [K in keyof T as T[K] extends (...args: never[]) => unknown ? never : K]: Jsonified<T[K]> }
        : T

/** What JSON leaves as it is. */
type Plain = string | number | boolean | null | undefined | readonly Plain[] | { readonly [name: string]: Plain }

/** What `run` gives: the value, and how it came about. */
export interface Done<T> {
  readonly kind: 'done'
  readonly value: Jsonified<T>
  readonly replayed: boolean
  readonly generation: number
  readonly expiresAt: Date | undefined
}

/** A duplicate of a run that is still under way, under `concurrency: 'accept'`. */
export interface Accepted {
  readonly kind: 'accepted'
  readonly retryAfterMs: number
}

/** Bytes are taken for a JSON text as it came: a value that was parsed has already lost digits and duplicate members. */
export function plainSource(policy: Policy, input: unknown): FingerprintSource {
  const body = input instanceof Uint8Array ? input : jsonBytes(input ?? null, 'input')
  return { subject: [policy.name], mediaType: 'application/json', body }
}

export function valueToAnswer(value: unknown): Answer {
  if (value === undefined) return { status: 204, headers: [], body: new Uint8Array() }
  return { status: 200, headers: [['content-type', 'application/json']], body: jsonBytes(value, 'result') }
}

export function errorToAnswer(error: unknown): Answer {
  const message = error instanceof Error ? error.message : String(error)
  return { status: 500, headers: [['content-type', 'application/json']], body: jsonBytes({ message }, 'error') }
}

/** Turns an outcome into a return value, or throws what it says. */
export function plainResult<T>(outcome: Outcome): Done<T> | Accepted {
  switch (outcome.kind) {
    case 'accepted':
      return { kind: 'accepted', retryAfterMs: outcome.retryAfterMs }
    case 'refused':
    case 'threw':
      throw outcome.error
    case 'answered': {
      const { answer, replayed, generation, expiresAt } = outcome
      if (answer.kind === 'withheld') throw new HapaxError('answer_withheld')
      const value = answer.body.byteLength === 0 ? undefined : JSON.parse(decoder.decode(answer.body))
      if (answer.status >= 500)
        throw new HapaxError('handler_failed', (value as { message?: string } | undefined)?.message)
      return {
        kind: 'done',
        value,
        replayed,
        generation,
        expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt),
      }
    }
  }
}

// To make one takes longer than what it does.
const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** What is left of a value that passed through JSON. */
export function jsonified(value: unknown, what: string): unknown {
  return value === undefined ? undefined : JSON.parse(jsonText(value, what))
}

function jsonBytes(value: unknown, what: string): Uint8Array {
  return encoder.encode(jsonText(value, what))
}

export function jsonText(value: unknown, what: string): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value, what === 'input' ? refuseLoss : undefined)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new HapaxError('input_not_json', `The ${what} cannot be written as JSON: ${why}.`, { cause })
  }
  if (text === undefined) {
    throw new HapaxError('input_not_json', `The ${what} cannot be written as JSON; give plain data.`)
  }
  return text
}

/** What JSON would silently write as something else: two different inputs must never look the same. */
function refuseLoss(name: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`"${name}" is ${value}`)
  if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError(`"${name}" is a ${typeof value}`)
  if (typeof value === 'object' && value !== null && isEmptyShell(value)) {
    throw new TypeError(`"${name}" is a ${value.constructor?.name ?? 'object'} that JSON writes as {}`)
  }
  return value
}

/** Whatever such a thing holds, JSON sees nothing of it. A plain object, which most are, is none of them. */
function isEmptyShell(value: object): boolean {
  if (Object.getPrototypeOf(value) === Object.prototype) return false
  return shells.some((shell) => value instanceof shell)
}

const shells = [Map, Set, WeakMap, WeakSet, Error, RegExp, Promise, ArrayBuffer]
