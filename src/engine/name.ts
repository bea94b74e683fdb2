import { limits } from '../kernel/limits.js'

/** Names and codes stand in rows, events and messages: short printable ASCII, so that every store can keep them. */
const printable = /^[\x20-\x7e]+$/

export function isName(text: unknown): text is string {
  return typeof text === 'string' && text.length <= limits.nameLength && printable.test(text)
}

/** Makes anything a code. What does not fit is replaced and never refused: this is called when things go wrong. */
export function errorCodeOf(text: unknown): string {
  if (typeof text !== 'string' || text === '') return 'unnamed'
  return text.slice(0, limits.nameLength).replaceAll(/[^\x20-\x7e]/g, '?')
}

/** A short name for operators: the error's own code, else its class. Never its message, which may hold data. */
export function codeOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return 'threw'
    const { code } = error as { code?: unknown }
    return errorCodeOf(typeof code === 'string' && code !== '' ? code : error.name)
  } catch {
    return 'threw' // Even to ask an error for its name may throw.
  }
}
