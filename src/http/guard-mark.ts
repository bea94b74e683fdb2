import type { Policy } from '../engine/policy.js'

/**
 * What says of a function that it guards a route: an audit of an application's routes finds it there. It is the same in every
 * copy of this package.
 */
export const guardMark = Symbol.for('hapax.guard')

/** What is guarded, and for which methods. */
export interface GuardMark {
  readonly name: string
  readonly methods: readonly string[]
}

export function marked<F extends (...given: never[]) => unknown>(
  guarding: F,
  { policy, methods }: { readonly policy: Pick<Policy, 'name'>; readonly methods: readonly string[] },
): F {
  return Object.assign(guarding, { [guardMark]: { name: policy.name, methods } satisfies GuardMark })
}

export function markOf(value: unknown): GuardMark | undefined {
  return typeof value === 'function' ? (value as { [guardMark]?: GuardMark })[guardMark] : undefined
}
