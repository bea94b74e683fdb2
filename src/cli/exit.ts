import { CommanderError } from 'commander'
import { isHapaxError } from '../kernel/errors.js'

/** What the shell is told. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const

/** Says in one line what went wrong, unless it has been said, and gives the exit code. */
export function reportFailure(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  const message = error instanceof Error ? error.message : String(error)
  const code = isHapaxError(error) ? ` (${error.code})` : ''
  console.error(`hapax: ${message.replaceAll(/\s+/g, ' ')}${code}`)
  return isHapaxError(error, 'store_unknown') ? exitCodes.usage : exitCodes.failed
}
