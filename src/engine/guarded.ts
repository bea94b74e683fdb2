import type { Awaitable } from '../kernel/awaitable.js'
import type { FingerprintSource } from './fingerprint/source.js'
import type { Limiter } from './limiter.js'
import type { Policy } from './policy.js'
import type { Answer, RecordName, StoredAnswer } from './record.js'
import type { Work } from './work.js'

/**
 * One request to guard, in the engine's terms: everything is parsed, and how a handler's value or error becomes an
 * answer is said by whoever stands at the door.
 */
export interface Guarded<Tx> extends RecordName {
  /** A key that nobody sent is used by nobody else: it takes no place in a quota. */
  readonly minted?: true | undefined
  readonly policy: Policy
  readonly source: FingerprintSource
  /** The input of an operation as JSON, which is stored; `undefined` for any other handler. */
  readonly input?: string | undefined
  /** A transaction that the caller opened and will end himself, where the policy makes one transaction of a request. */
  readonly joins?: unknown
  /** The `traceparent` of this run, once it has begun and where it is traced; the engine says so. */
  readonly trace?: string | undefined
  /** Who goes on with it, where it is no request that came. */
  readonly resumedBy?: 'worker'
  /** `stored` is the input that an earlier attempt of an operation began with. */
  handler(work: Work<Tx>, stored?: string): Awaitable<unknown>
  /** May take its time: the body of a response is read as it comes. */
  toAnswer(value: unknown): Awaitable<Answer>
  /** Whether this caller may be given an answer that was made before, for whoever asked then. Without it he may. */
  readonly authorizeReplay?: ((answer: StoredAnswer) => boolean | Promise<boolean>) | undefined
  /** How often the answer to one key may be given again, where it is not as the engine has it. */
  readonly replays?: Limiter | undefined
  /** Only asked where the policy stores failures. */
  errorToAnswer(error: unknown): Answer
}
