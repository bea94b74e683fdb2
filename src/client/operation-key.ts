import { ClientError } from './errors.js'
import { checkedKey } from './key.js'
import type { CallOptions, Settings } from './options.js'
import { isSafe, type SealedRequest } from './sealed-request.js'

export interface OperationKey {
  /** As it stands in the header. */
  readonly value: string
  /** By the caller, who may choose the same twice. */
  readonly chosen: boolean
}

/** The caller's own key, or a new one where the method changes something. */
export function keyOf(
  { headers, method, init }: SealedRequest,
  { key }: CallOptions,
  settings: Settings,
): OperationKey | undefined {
  const { header, makeKey, personalKeys, spelling } = settings
  const written = headers.get(header) ?? undefined
  const spelt = key !== undefined && spelling === 'quoted' && !key.startsWith('"') ? `"${key}"` : key
  if (written !== undefined && spelt !== undefined && written !== spelt)
    throw new ClientError('options_invalid', `The call has one key in its options and another in ${header}.`)
  const chosen = written ?? spelt
  if (chosen === undefined && isSafe(method)) return undefined
  if (init?.mode === 'no-cors') throw new ClientError('options_invalid', 'Under "no-cors" a browser drops the key.')
  if (chosen !== undefined) return { value: checkedKey(chosen, personalKeys), chosen: true }
  const made = checkedKey(makeKey(), personalKeys)
  return { value: spelling === 'quoted' ? `"${made}"` : made, chosen: false }
}
