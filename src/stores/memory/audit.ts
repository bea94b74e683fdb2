import { chained, type Happened, headAfter } from '../../engine/audit-chain.js'
import type { Acted, AuditEntry, AuditStore, Deed, RecordDeed } from '../../engine/audit-store.js'
import type { Enacted } from '../../engine/deeds.js'
import { boundedLimit } from '../../engine/limit.js'
import { numberedPlace } from '../../engine/page-place.js'
import { limits } from '../../kernel/limits.js'

/** The audit log of a memory store, which ends with its process. */
export function memoryAudit(now: () => number, enacted: (deed: RecordDeed, at: number) => Enacted): AuditStore {
  const log: AuditEntry[] = []
  const head = () => headAfter(log, { sequence: 0, hash: '' })

  /** Nothing of effects is kept here. */
  function happening(deed: Deed, at: number): Extract<Acted, { kind: 'refused' }> | readonly Happened[] {
    switch (deed.kind) {
      case 'note':
        return [{ action: deed.action, scope: '', subject: deed.subject, before: undefined, after: undefined }]
      case 'redrive':
      case 'discard':
        return []
      case 'resolve':
      case 'look':
        return { kind: 'refused', why: 'absent' }
      case 'settle':
      case 'purge':
      case 'reconcile': {
        const came = enacted(deed, at)
        return came.kind === 'refused' ? came : [came.happened]
      }
    }
  }

  return {
    async act(deed, by) {
      const at = now()
      const came = happening(deed, at)
      if ('kind' in came) return came
      const entries = chained(head(), came, by, at)
      log.push(...entries.map((entry) => ({ ...entry })))
      return { kind: 'done', entries }
    },
    async list({ subject, order, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const all = order === 'newest' ? log.toReversed() : log
      const place = after === undefined ? undefined : numberedPlace(after)
      const isBeyond = ({ sequence }: AuditEntry) =>
        place === undefined || (order === 'newest' ? sequence < place : sequence > place)
      const found = all.filter((entry) => isBeyond(entry) && (subject === undefined || entry.subject === subject))
      const entries = found.slice(0, size).map((entry) => ({ ...entry }))
      return { entries, next: found.length > size ? String(entries.at(-1)?.sequence) : undefined }
    },
    head: async () => head(),
  }
}
