import { chained, type Happened, headAfter } from '../../../engine/audit-chain.js'
import type { Acted, Deed } from '../../../engine/audit-store.js'
import { enact, enactLook, enactResolve, happenedTo } from '../../../engine/deeds.js'
import type { StoredEffect } from '../../../engine/effect-store.js'
import { boundedLimit } from '../../../engine/limit.js'
import { limits } from '../../../kernel/limits.js'
import { testified } from '../calls/testified.js'
import { effectStepsAt } from '../effects/effect-steps.js'
import type { AuditSteps } from '../protocol.js'
import type { Tables } from '../tables.js'

/** Every step on the audit log. There is one writer at a time, so that nobody has to take a turn. */
export function auditStepsAt(now: number, tables: Tables): AuditSteps {
  const { records, calls, effects, audit } = tables

  function enacted(deed: Deed): Extract<Acted, { kind: 'refused' }> | readonly Happened[] {
    switch (deed.kind) {
      case 'note':
        return [{ action: deed.action, scope: '', subject: deed.subject, before: undefined, after: undefined }]
      case 'redrive':
      case 'discard': {
        const steps = effectStepsAt(now, tables)
        const before = new Map<number, StoredEffect | undefined>(deed.ids.map((id) => [id, effects.find(id)]))
        const after =
          deed.kind === 'redrive'
            ? steps['effects.redrive'](deed.ids, deed.keyMemory)
            : steps['effects.discard'](deed.ids)
        return after.map((effect) => happenedTo(deed.kind, before.get(effect.id), effect))
      }
      case 'resolve': {
        const current = effects.find(deed.claim.id)
        const came = enactResolve(current, deed, now)
        if (came.kind === 'refused' || current === undefined) return came as Extract<Acted, { kind: 'refused' }>
        effects.write(current, came.next)
        testified(now, tables, deed.said)
        return [came.happened]
      }
      case 'look': {
        const current = effects.find(deed.claim.id)
        const came = enactLook(current, deed, now)
        if (came.kind === 'refused' || current === undefined) return came as Extract<Acted, { kind: 'refused' }>
        effects.write(current, came.next)
        return [came.happened]
      }
      case 'settle':
      case 'purge':
      case 'reconcile': {
        const current = records.find(deed.name)
        const isOpen = current !== undefined && effects.hasOpen(current.id)
        const came = enact(current, deed, now, isOpen ? 'open' : 'final')
        if (came.kind === 'refused') return came
        records.write(current, came.next)
        if (came.call !== undefined) calls.mark(came.next, came.call, now)
        return [came.happened]
      }
    }
  }

  return {
    'audit.act'(deed, by) {
      const head = audit.head()
      const came = enacted(deed)
      if ('kind' in came) return came
      const entries = chained(head, came, by, now)
      audit.append(entries, headAfter(entries, head))
      return { kind: 'done', entries }
    },
    'audit.list'(query) {
      const size = boundedLimit(query.limit, limits.page)
      const found = audit.list({ ...query, limit: size + 1 })
      const entries = found.slice(0, size)
      return { entries, next: found.length > size ? String(entries.at(-1)?.sequence) : undefined }
    },
    'audit.head': () => audit.head(),
  }
}
