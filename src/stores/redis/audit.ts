import { chained, type Happened } from '../../engine/audit-chain.js'
import type { Acted, Actor, AuditEntry, AuditStore, Deed } from '../../engine/audit-store.js'
import { type Enacted, enact } from '../../engine/deeds.js'
import { boundedLimit } from '../../engine/limit.js'
import { numberedPlace } from '../../engine/page-place.js'
import type { RecordName } from '../../engine/record.js'
import { HapaxError, invariant } from '../../kernel/errors.js'
import { limits, redisBounds } from '../../kernel/limits.js'
import type { Connection, Given } from './connection.js'
import { callFields } from './given-fields.js'
import type { Keys } from './keys.js'
import { changeableOf, recordIf } from './record-fields.js'
import { fieldsOf, listOf, numberOf, reader, textOf } from './reply.js'
import { act } from './scripts/act.js'
import { audited } from './scripts/audited.js'
import { listAudit } from './scripts/list-audit.js'

/**
 * The audit log. Redis has no SHA-256, so what is written is made here, of log and record as they were seen, and written
 * only if both still are: whoever comes too late looks again.
 */
export function redisAudit(connection: Connection, { root, record }: Pick<Keys, 'root' | 'record'>): AuditStore {
  async function seen(name: RecordName | undefined) {
    const keys = name === undefined ? ([root] as const) : record(name)
    const [now, sequence, hash, found] = listOf(await connection.run(audited, keys))
    return {
      keys,
      now: numberOf(now),
      head: { sequence: numberOf(sequence), hash: textOf(hash) },
      current: recordIf(found),
      version: reader(fieldsOf(found)).textIf('version'),
    }
  }

  /** `undefined` where somebody else was quicker. */
  async function tried(deed: Deed, by: Actor): Promise<Acted | undefined> {
    const { keys, now, head, current, version } = await seen('name' in deed ? deed.name : undefined)
    const came = happening(deed, (onRecord) => enact(current, onRecord, now, 'final'))
    if (came.kind === 'refused') return came
    if (came.kind === 'nothing') return { kind: 'done', entries: [] }
    const [entry] = chained(head, [came.happened], by, now)
    invariant(entry, 'what happened is written down')
    const changes = came.enacted && { version, ...changesOf(came.enacted) }
    const written = await connection.run(act, keys, { hash: head.hash, at: now, ...entryOf(entry), ...changes })
    return written === null ? undefined : { kind: 'done', entries: [entry] }
  }

  return {
    async act(deed, by) {
      for (let tries = 0; tries < redisBounds.deeds; tries++) {
        const acted = await tried(deed, by)
        if (acted !== undefined) return acted
      }
      throw new HapaxError('store_busy', 'Others write to the audit log all the time; nothing happened. Try again.')
    },
    async list({ subject, order = 'oldest', limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const place = after === undefined ? undefined : numberedPlace(after)
      const found = listOf(await connection.run(listAudit, [root], { subject, order, after: place, limit: size + 1 }))
      const entries = found.slice(0, size).map((entry) => JSON.parse(textOf(entry)) as AuditEntry)
      return { entries, next: found.length > size ? String(entries.at(-1)?.sequence) : undefined }
    },
    head: async () => (await seen(undefined)).head,
  }
}

type Done = Extract<Enacted, { readonly kind: 'done' }>

type Happening =
  | Extract<Acted, { readonly kind: 'refused' }>
  | { readonly kind: 'nothing' }
  | { readonly kind: 'happened'; readonly happened: Happened; readonly enacted?: Done }

/** Nothing of effects is kept here. */
function happening(deed: Deed, enacted: (deed: Parameters<typeof enact>[1]) => Enacted): Happening {
  switch (deed.kind) {
    case 'note': {
      const { action, subject } = deed
      return { kind: 'happened', happened: { action, scope: '', subject, before: undefined, after: undefined } }
    }
    case 'redrive':
    case 'discard':
      return { kind: 'nothing' }
    case 'resolve':
    case 'look':
      return { kind: 'refused', why: 'absent' }
    case 'settle':
    case 'purge':
    case 'reconcile': {
      const came = enacted(deed)
      return came.kind === 'refused' ? came : { kind: 'happened', happened: came.happened, enacted: came }
    }
  }
}

function entryOf(entry: AuditEntry): Given {
  const { subject, sequence: nextSequence, hash: nextHash } = entry
  return { entry: JSON.stringify(entry), subject, nextSequence, nextHash }
}

/** The fields of the record as it becomes, and the names of those that go. */
function changesOf({ next, call }: Done): Given {
  const fields = Object.entries(changeableOf(next))
  const gone = fields.filter(([, value]) => value === undefined).map(([name]) => name)
  return {
    gone: gone.join('\n'),
    ...Object.fromEntries(fields.map(([name, value]) => [`=${name}`, value])),
    ...callFields(call),
  }
}
