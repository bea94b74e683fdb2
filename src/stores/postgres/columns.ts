import { columns, forever, type Row as RecordRow } from '../sql/row.js'
import type { Row } from './connections.js'

/** How each column of the records is read, written and understood. Times enter and leave as milliseconds. */

const times = new Set([
  'locked_until',
  'reconcile_after',
  'created_at',
  'last_run_at',
  'completed_at',
  'expires_at',
  'doubted_at',
])
const bytes = new Set(['progress', 'response_body'])
const numbers = new Set([
  ...times,
  'id',
  'generation',
  'fence',
  'attempt',
  'is_begun',
  'has_effects',
  'looks',
  'response_status_code',
  'response_withheld_bytes',
  'response_schema_version',
  'retention_ms',
  'tombstone_ms',
])

/** Every column of a record, and the revision by which a later write says what it was judged on. */
export const whole: readonly string[] = ['id', 'revision', 'scope_id', 'idempotency_key', ...Object.keys(columns)]

export function selected(names: readonly string[]): string {
  return names.map((name) => (times.has(name) ? `${read(name)} AS ${name}` : name)).join(', ')
}

/** The value of a column as it is read. */
export function read(name: string): string {
  return times.has(name) ? milliseconds(name) : name
}

export function milliseconds(time: string): string {
  // Not `extract`, which reckons in decimals and takes several times as long. Times are whole milliseconds.
  return `round(date_part('epoch', ${time}) * 1000)`
}

/** The value of a column as it is written: parameter `n`, in milliseconds where it is a time. */
export function written(name: string, n: number): string {
  const time = `timestamptz 'epoch' + $${n}::bigint * interval '1 millisecond'`
  if (name === 'expires_at') return `CASE WHEN $${n}::bigint = ${forever} THEN 'infinity' ELSE ${time} END`
  return times.has(name) ? time : `$${n}`
}

export function recordRowOf(row: Row): RecordRow {
  const entries = Object.entries(row).map(([name, value]) => [name, value === null ? null : understood(name, value)])
  return Object.fromEntries(entries) as unknown as RecordRow
}

function understood(name: string, text: string): string | number | Uint8Array {
  if (bytes.has(name)) return bytesOf(text)
  return numbers.has(name) ? Number(text) : text
}

/** Bytes as PostgreSQL spells them. */
export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text.slice('\\x'.length), 'hex')
}
