/** The entry point `hapax/client`: runs in a browser, and imports nothing of Node. */
export type { Chance } from '../kernel/chance.js'
export type { Clock } from '../kernel/clock.js'
export type { Duration } from '../kernel/duration-text.js'
export {
  ClientError,
  type ClientErrorCode,
  type ClientErrorDetails,
  clientErrors,
  type GaveUp,
  isClientError,
  type Resume,
  type ResumeOptions,
} from './errors.js'
export { type IdempotentFetch, idempotentFetch } from './idempotent-fetch.js'
export { newKey, type PersonalKeys } from './key.js'
export type { Attempt, CallOptions, ClientOptions } from './options.js'
export { type RetryTable, retryTable, type Verdict } from './verdict.js'
