/** The command was given what it cannot take. It is told in one line and has no code: no program meets it. */
class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function usage(message: string): Error {
  return new UsageError(message)
}

export function isUsage(error: unknown): boolean {
  return error instanceof UsageError
}

/** Names between commas. One that is empty was forgotten, not meant. */
export function namesIn(flag: string, given: string | undefined): readonly string[] | undefined {
  const names = given?.split(',').map((name) => name.trim())
  if (names?.includes('')) throw usage(`${flag} has an empty name; separate names by single commas.`)
  return names
}

export function wholeOf(flag: string, text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text)
  throw usage(`${flag} is ${JSON.stringify(text)}; give a whole number.`)
}

/** There was nothing that could have been compared, which is neither agreement nor a difference. */
class NothingCompared extends Error {}

export function nothingCompared(message: string): Error {
  return new NothingCompared(message)
}

export function isNothingCompared(error: unknown): boolean {
  return error instanceof NothingCompared
}
