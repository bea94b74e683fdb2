import assert from 'node:assert/strict'
import { isHapaxError } from '../kernel/errors.js'

/** The operation fails, and the caller can tell from the error that the store is at fault and that he may retry. */
export async function failsTyped(operation: Promise<unknown>, name: string): Promise<void> {
  const error = await operation.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error !== undefined, `${name} should have failed`)
  assert.ok(isHapaxError(error), `${name} should have failed with a HapaxError, not with ${error}`)
  assert.equal(error.retryable, true, `${name} failed with ${error.code}, which says that a retry cannot help`)
}

/** A store may need a few attempts to find its way back, and must say with a typed error that it has not yet. */
export async function recovered<T>(operation: () => Promise<T>, attempts = 10): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    if (!isHapaxError(error) || attempts === 1) throw error
    return recovered(operation, attempts - 1)
  }
}
