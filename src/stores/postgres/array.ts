import type { SqlValue } from '../sql/row.js'

/** An array as PostgreSQL spells it: one text for any client library, whatever it makes of lists. */
export function arrayOf(values: readonly SqlValue[]): string {
  return `{${values.map(element).join(',')}}`
}

function element(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return `"${special.test(value) ? value.replaceAll(specials, '\\$&') : value}"`
  return `"\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`
}

/** To look whether there are any takes less than to replace none. */
const special = /["\\]/
const specials = /["\\]/g
