/** An error in a line of the log. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : 'something that is no error'
}
