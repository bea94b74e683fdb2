import type { AuditQuery } from '../../../engine/audit-store.js'
import { milliseconds } from '../columns.js'
import type { Query } from '../connections.js'
import { hasOpenEffects } from '../fragments.js'

/** The log of what people did, and the end of its chain. */
export type AuditQueries = ReturnType<typeof auditQueriesFor>

const columns = [
  'sequence',
  'at_ms',
  'who',
  'action',
  'scope_id',
  'subject',
  'why',
  'before',
  'after',
  'previous',
  'hash',
]

export function auditQueriesFor(schema: string) {
  const [audit, head] = [`${schema}.audit`, `${schema}.audit_head`]
  return {
    /** The server gives up before this side does, so that whoever waited in vain knows that nothing happened. */
    patience: { text: `SELECT set_config('lock_timeout', $1, true)`, gives: ['done'] },
    /** A log whose head is lost goes on nowhere: its first number is taken. */
    begin: { text: `INSERT INTO ${head} (one, sequence, hash) VALUES (1, 0, '') ON CONFLICT DO NOTHING`, gives: [] },
    /** Whoever has this writes next. */
    takeHead: {
      text: `SELECT sequence, hash, ${milliseconds(`${schema}.clock()`)} FROM ${head} FOR UPDATE`,
      gives: ['sequence', 'hash', 'now'],
    },
    head: { text: `SELECT sequence, hash FROM ${head}`, gives: ['sequence', 'hash'] },
    moveHead: { text: `UPDATE ${head} SET sequence = $1, hash = $2`, gives: [] },
    insert: {
      text: `INSERT INTO ${audit} (${columns.join(', ')})
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      gives: [],
    },
    isWritten: { text: `SELECT 1 FROM ${audit} WHERE sequence = $1 AND hash = $2`, gives: ['done'] },
    hasOpenEffects: {
      text: `SELECT 1 FROM ${schema}.records r WHERE id = $1 AND ${hasOpenEffects(schema)}`,
      gives: ['done'],
    },
    list: ({ subject, order }: Pick<AuditQuery, 'subject' | 'order'>) => ({
      text: `SELECT ${columns.join(', ')} FROM ${audit} WHERE sequence ${order === 'newest' ? '<' : '>'} $1::bigint
        ${subject === undefined ? '' : 'AND subject = $3'} ORDER BY sequence ${order === 'newest' ? 'DESC' : ''} LIMIT $2`,
      gives: columns,
    }),
  } as const satisfies Record<string, Query | ((given: never) => Query)>
}
