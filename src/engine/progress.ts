import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { RecordName, StoredRecord } from './record.js'
import type { Sealer } from './sealing.js'

/** How far a handler is: what a resume needs to know. It is kept with the record, as bytes that only the engine reads. */
export interface Progress {
  /** Of the code that wrote it: a recovery point of another version means nothing to this one. */
  readonly version: number
  /** The input of an operation, as JSON. */
  readonly input?: string
  /** The phases that have committed, in order. */
  readonly phases: readonly CommittedPhase[]
  /** A call that was begun, and whose result is not on record. */
  readonly call?: OpenCall
  /** Keys that the handler was given, to make calls by itself. */
  readonly handedOut?: HandedOut
  /** A call that its provider answered with a no: it has seen the key, and remembers it from then on. */
  readonly refused?: RefusedCall
}

export interface HandedOut {
  readonly names: readonly string[]
  /** How long the handler may run: until then one that lost its claim may still send them. */
  readonly runMs: number
}

export interface RefusedCall {
  readonly name: string
  readonly begunAt: number
}

export interface CommittedPhase {
  readonly name: string
  /** What it returned, after it passed through JSON. */
  readonly result?: unknown
}

/** A call as it was begun. Times are on the store's clock. */
export interface OpenCall {
  readonly name: string
  /** The downstream key that it carried. */
  readonly key: string
  readonly input?: unknown
  /**
   * Since when the provider may know its key, which is what its memory of it is counted from. Evidence that it has not
   * landed has this counted anew: the provider has never seen the key. From when on something that is said is about this
   * call is another question, and the store's to answer: from when it began for the first time, which never moves.
   */
  readonly begunAt: number
  readonly timeoutMs: number
  /** How long the provider may take to show what it has done. */
  readonly readLagMs: number
  /** How long the provider remembers the key; without it, it does not. */
  readonly honoursKeyForMs?: number
  /** Whether the provider can be asked. */
  readonly canLookUp: boolean
  /** `false` where the handler goes on without what the call returned. Absent in what an older release wrote. */
  readonly needsResult?: boolean
}

/** Writes progress down, and reads it. */
export interface ProgressCodec {
  encode(progress: Progress, name: RecordName): Uint8Array
  /** `undefined` when nothing is on record. */
  decode(record: Pick<StoredRecord, 'progress' | 'scope' | 'key'>): Progress | undefined
  /** The result of a call, to be kept apart from the record: sealed as all of it is. */
  sealed(result: unknown, name: RecordName): Uint8Array
  /** What a result is that was sealed, or that somebody else has said in plain JSON. Throws when it is neither. */
  resultIn(bytes: Uint8Array, name: RecordName): unknown
}

export function progressCodec(sealer: Sealer): ProgressCodec {
  return {
    encode(progress, name) {
      const bytes = Buffer.from(JSON.stringify(progress))
      if (bytes.byteLength > limits.progressBytes) throw tooLarge(bytes.byteLength)
      return sealer.seal(bytes, name)
    },
    // A call that returned nothing has no bytes, which is another thing than that nobody knows what it returned.
    sealed: (result, name) => sealer.seal(Buffer.from(JSON.stringify(result) ?? ''), name),
    resultIn(bytes, { scope, key }) {
      const text = Buffer.from(sealer.open(bytes, { scope, key })).toString()
      return text === '' ? undefined : (JSON.parse(text) as unknown)
    },
    decode({ progress, scope, key }) {
      if (progress === undefined) return undefined
      const bytes = sealer.open(progress, { scope, key })
      try {
        return JSON.parse(Buffer.from(bytes).toString()) as Progress
      } catch (cause) {
        throw new HapaxError('progress_unreadable', 'What is on record of the phases is no JSON.', { cause })
      }
    },
  }
}

function tooLarge(bytes: number): HapaxError {
  const message = `The input and the results of the phases take ${bytes} bytes, and ${limits.progressBytes} are kept. Return ids from a phase, not whole objects.`
  return new HapaxError('progress_too_large', message)
}
