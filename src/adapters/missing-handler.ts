import { HapaxError } from '../kernel/errors.js'

/** Without it a guard would start, and fail every request. */
export function refuseMissingHandler(
  { policy }: { readonly policy: { readonly name: string } },
  handler: unknown,
  shape: string,
): void {
  if (typeof handler === 'function') return
  const message = `Route "${policy.name}" has no handler: give ${shape} as the third argument of guard.`
  throw new HapaxError('handler_missing', message)
}
