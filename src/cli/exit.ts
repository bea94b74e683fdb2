import { CommanderError } from 'commander'
import { isRefused } from '../admin/refused.js'
import { isHapaxError } from '../kernel/errors.js'
import { isNothingCompared, isUsage } from './usage.js'

/**
 * What the shell is told. `notConfirmed`: nobody could be asked, and nothing was changed. `notAllLookedAt`: nothing was found as
 * far as was looked.
 */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  nothingCompared: 3,
  notConfirmed: 4,
  notAllLookedAt: 5,
} as const

/** How the help of a command that asks speaks of it. */
export const notConfirmedHelp = `${exitCodes.notConfirmed} nothing was changed, since nobody could be asked and --yes was not given`

/** Says in one line what went wrong, unless it has been said, and gives the exit code. */
export function reportFailure(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  const message = error instanceof Error ? error.message : String(error)
  const code = isHapaxError(error) || isRefused(error) ? ` (${error.code})` : ''
  console.error(`hapax: ${message.replaceAll(/\s+/g, ' ')}${code}`)
  if (isNothingCompared(error)) return exitCodes.nothingCompared
  return isUsage(error) || isHapaxError(error, 'store_unknown') ? exitCodes.usage : exitCodes.failed
}

/**
 * Runs a command that has loaded a module of the application, and ends the process: whatever the module has opened besides
 * its engine is not ours to close, and would keep the process.
 */
export async function thenExit(command: () => Promise<unknown>): Promise<never> {
  try {
    await command()
  } catch (error) {
    process.exitCode = reportFailure(error)
  }
  process.exit()
}
