import { exitCodes } from './exit.js'

/** Resolves with the first SIGINT or SIGTERM. The second ends the process at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isFirst = true
    const heard = () => {
      if (!isFirst) process.exit(exitCodes.failed)
      isFirst = false
      resolve()
    }
    process.on('SIGINT', heard)
    process.on('SIGTERM', heard)
  })
}
