import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { Testimony } from './inbox-store.js'
import { jsonText } from './plain.js'

/** What somebody says about one call or effect, by its downstream key. */
export interface CallEvidence {
  /** The key that the call carried. */
  readonly downstreamKey: string
  readonly says: Testimony['says']
  /** What the call would have returned, as plain data. */
  readonly result?: unknown
  /** Who says so: `operator:ann`, `ledger`. */
  readonly by: string
  /** On what grounds, for people: `event payment.succeeded`. */
  readonly why: string
}

/** Evidence as it is kept. */
export function testimonyOf({ downstreamKey, says, result, by, why }: CallEvidence): Testimony {
  if (says !== 'landed' && says !== 'not_landed')
    throw new HapaxError('policy_invalid', "Evidence says 'landed' or 'not_landed'.")
  if (!isDownstreamKey(downstreamKey))
    throw new HapaxError('policy_invalid', 'Evidence names the downstream key of the call that it is about.')
  const [who, grounds] = [printed(by), printed(why)]
  if (result === undefined) return { downstreamKey, says, by: who, why: grounds }
  const bytes = encoder.encode(jsonText(result, 'result of the evidence'))
  return { downstreamKey, says, by: who, why: grounds, result: bytes }
}

const encoder = new TextEncoder()

/** No call of ours had another kind of key. */
export function isDownstreamKey(key: unknown): boolean {
  return typeof key === 'string' && key.length <= limits.keyLength && /^[\x21-\x7e]+$/.test(key)
}

/** Grounds are never refused. Some databases cannot keep a NUL, and no log should be made to jump. */
export function printed(text: unknown): string {
  return String(text ?? '')
    .slice(0, limits.whyLength)
    .toWellFormed()
    .replaceAll(controls, '?')
}

const controls = /\p{Cc}/gu
