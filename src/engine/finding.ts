import type { ErrorCode } from '../kernel/errors.js'

/**
 * One thing that was looked at in a database, and what it means for what Hapax promises. A store refuses to open on
 * what is broken; a warning is for the operator.
 */
export type Finding =
  | { readonly check: string; readonly level: 'ok' | 'warning'; readonly says: string }
  | { readonly check: string; readonly level: 'broken'; readonly says: string; readonly code: ErrorCode }
