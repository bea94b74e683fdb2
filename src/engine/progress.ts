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
  /** When it was begun for the first time: the provider cannot know its key for longer. */
  readonly begunAt: number
  readonly timeoutMs: number
  /** How long the provider may take to show what it has done. */
  readonly readLagMs: number
  /** How long the provider remembers the key; without it, it does not. */
  readonly honoursKeyForMs?: number
  /** Whether the provider can be asked. */
  readonly canLookUp: boolean
}

/** Writes progress down, and reads it. */
export interface ProgressCodec {
  encode(progress: Progress, name: RecordName): Uint8Array
  /** `undefined` when nothing is on record. */
  decode(record: Pick<StoredRecord, 'progress' | 'scope' | 'key'>): Progress | undefined
}

export function progressCodec(sealer: Sealer): ProgressCodec {
  return {
    encode(progress, name) {
      const bytes = Buffer.from(JSON.stringify(progress))
      if (bytes.byteLength > limits.progressBytes) throw tooLarge(bytes.byteLength)
      return sealer.seal(bytes, name)
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
