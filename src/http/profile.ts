import type { PolicyOptions } from '../engine/policy.js'
import type { ErrorCode } from '../kernel/errors.js'
import type { KeyHeaderRules } from './header.js'

/** What is told of a problem, before a profile gives it its shape. */
export interface ProblemFacts {
  readonly code: ErrorCode
  /** Where this code is explained: a place on the page of errors, under the `docs` of the profile. */
  readonly type: string
  readonly status: number
  /** The same sentence for every problem of this code. */
  readonly title: string
  /** What was wrong with this request, and what to do. */
  readonly detail: string
  readonly retryable: boolean
  readonly retryAfterSeconds: number | undefined
}

/** A problem in the shape that an API has published. */
export interface ProblemShape {
  readonly mediaType: string
  readonly body: unknown
  /** Beside `Content-Type`, `Cache-Control`, `Link` and `Retry-After`, which every problem has. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
}

/** What a replay returns. */
export type ReplayRule =
  /** The first reply, byte for byte. */
  | { readonly kind: 'as_stored' }
  /** What the route's `currentState` says, under this status. A failure made nothing, so it replays as it was stored. */
  | { readonly kind: 'current_state'; readonly status: number }

/** What a profile says of the policy, wherever the route itself says nothing. */
export type ProfileDefaults = Pick<PolicyOptions, 'retention' | 'lease' | 'onError'>

/** What an API has published about its keys, as data. */
export interface Profile {
  readonly name: string
  /**
   * Where the API serves its contract: a path, or an absolute address. The page of errors is expected at `/errors` under
   * it, and the policy at `/policy`; every problem points to both.
   */
  readonly docs: string
  /** In lower case. */
  readonly header: string
  readonly key: KeyHeaderRules
  readonly defaults: ProfileDefaults
  /** Where the published contract differs from ours. */
  readonly statuses: Partial<Record<ErrorCode, number>>
  readonly problem: (facts: ProblemFacts) => ProblemShape
  readonly replay: ReplayRule
  /** How a replay is marked. */
  readonly replayed: readonly (readonly [name: string, value: string])[]
}
