/** One line for people who operate Hapax. It never holds a key, a body or a token. */
export interface LogEntry {
  readonly level: 'warn' | 'error'
  readonly code: string
  readonly message: string
}

export type Log = (entry: LogEntry) => void

/** Where warnings go unless the application brings its own logger. */
export const consoleLog: Log = ({ level, code, message }) => {
  console[level](`hapax ${code}: ${message}`)
}

/** An error in words, with what caused it. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'something that is no error'
  const { name, message, cause } = error
  return `${name}: ${message}${cause instanceof Error ? ` (${wordsOf(cause)})` : ''}`
}

/** A logger that throws disturbs nobody. */
export function loggingSafely(log: Log): Log {
  return (entry) => {
    try {
      log(entry)
    } catch {
      // There is nowhere left to say so.
    }
  }
}
