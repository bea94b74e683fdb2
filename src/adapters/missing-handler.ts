import { HapaxError } from '../kernel/errors.js'

/** Without it a guard would start, and fail every request; unless an operation answers in its place. */
export function refuseMissingHandler(
  { policy, bound }: { readonly policy: { readonly name: string }; readonly bound: unknown },
  handler: unknown,
  shape: string,
): void {
  if (bound !== undefined && handler !== undefined) {
    const message = `Route "${policy.name}" has a handler besides its operation, which would never run: leave it out.`
    throw new HapaxError('policy_invalid', message)
  }
  if (bound !== undefined || typeof handler === 'function') return
  const message = `Route "${policy.name}" has no handler: give ${shape} as the third argument of guard.`
  throw new HapaxError('handler_missing', message)
}

/** Stands for the handler of a route whose operation answers. */
export function nobody(): never {
  throw new HapaxError('handler_missing')
}
