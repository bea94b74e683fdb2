/**
 * The lines of a header, given as the Fetch API has joined them. What is not quoted holds no comma of its own, so it was
 * more than one.
 */
export function joinedLines(value: string | null): readonly string[] {
  if (value === null) return []
  return value.startsWith('"') ? [value] : value.split(', ')
}
