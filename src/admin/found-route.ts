import type { GuardMark } from '../http/guard-mark.js'

/** A route as its framework has it. */
export interface FoundRoute {
  readonly method: string
  readonly path: string
  readonly guard: GuardMark | undefined
  /** What people should know of it. */
  readonly note?: string
}

export const changing: readonly string[] = ['POST', 'PATCH', 'PUT', 'DELETE']
