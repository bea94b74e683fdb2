import type { AuditEntry, AuditHead, AuditQuery } from '../../../engine/audit-store.js'
import { numberedPlace } from '../../../engine/page-place.js'
import type { Connection } from '../connection.js'
import { statementsOn } from '../statements.js'

/** The log of what people did, and the end of its chain. */
export interface AuditTable {
  head(): AuditHead
  append(entries: readonly AuditEntry[], head: AuditHead): void
  list(query: AuditQuery): readonly AuditEntry[]
}

interface AuditRow extends Omit<AuditEntry, 'at' | 'scope'> {
  readonly at_ms: number
  readonly scope_id: string
}

const columns = 'sequence, at_ms, who, action, scope_id, subject, why, before, after, previous, hash'

const insert = `INSERT INTO hapax_audit (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const moveHead = `INSERT INTO hapax_audit_head (one, sequence, hash) VALUES (1, ?, ?)
  ON CONFLICT (one) DO UPDATE SET sequence = excluded.sequence, hash = excluded.hash`

const list = ({ subject, order }: AuditQuery) => `SELECT ${columns} FROM hapax_audit
  WHERE sequence ${order === 'newest' ? '<' : '>'} ? ${subject === undefined ? '' : 'AND subject = ?'}
  ORDER BY sequence ${order === 'newest' ? 'DESC' : ''} LIMIT ?`

export function auditTable(connection: Connection): AuditTable {
  const head = connection.prepare<AuditHead>('SELECT sequence, hash FROM hapax_audit_head')
  const move = connection.prepare(moveHead)
  const inserting = connection.prepare(insert)
  const statement = statementsOn<AuditRow>(connection)
  return {
    head: () => head.get([]) ?? { sequence: 0, hash: '' },
    append(entries, { sequence, hash }) {
      for (const { at, scope, ...entry } of entries) {
        const { who, action, subject, why, before, after, previous } = entry
        inserting.run([entry.sequence, at, who, action, scope, subject, why, before, after, previous, entry.hash])
      }
      move.run([sequence, hash])
    },
    list(query) {
      const { subject, order, limit, after } = query
      const first = after === undefined ? (order === 'newest' ? Number.MAX_SAFE_INTEGER : 0) : numberedPlace(after)
      const given = [first, subject, limit].filter((value) => value !== undefined)
      return statement(list(query))
        .all(given)
        .map(({ at_ms, scope_id, ...entry }) => ({ ...entry, at: at_ms, scope: scope_id }))
    },
  }
}
