import { hash } from 'node:crypto'
import { limits } from '../kernel/limits.js'
import type { Actor, AuditAction, AuditEntry, AuditHead, AuditStore } from './audit-store.js'
import { framed } from './framed.js'
import { printed } from './testimony.js'

/** Says what is hashed, so that no other hash of ours is ever equal to one of these. */
const domain = 'hapax audit 1'

/** What happened to one thing. */
export interface Happened {
  readonly action: AuditAction
  readonly scope: string
  readonly subject: string
  readonly before: unknown
  readonly after: unknown
}

/** Entries for what happened, behind those that are there. */
export function chained(
  head: AuditHead,
  happened: readonly Happened[],
  { who, why }: Actor,
  at: number,
): readonly AuditEntry[] {
  let { sequence, hash: previous } = head
  return happened.map(({ action, scope, subject, before, after }) => {
    const entry = {
      sequence: ++sequence,
      at,
      who: printed(who),
      action,
      scope,
      subject,
      why: printed(why),
      before: JSON.stringify(before ?? null),
      after: JSON.stringify(after ?? null),
      previous,
    }
    previous = hashOf(entry)
    return { ...entry, hash: previous }
  })
}

/** The head behind these entries, of which there is at least one. */
export function headAfter(entries: readonly AuditEntry[], before: AuditHead): AuditHead {
  const { sequence, hash } = entries.at(-1) ?? before
  return { sequence, hash }
}

function hashOf(entry: Omit<AuditEntry, 'hash'>): string {
  const { sequence, at, who, action, scope, subject, why, before, after, previous } = entry
  const parts = [domain, previous, String(sequence), String(at), who, action, scope, subject, why, before, after]
  return hash('sha256', framed(parts), 'hex')
}

/** Whether the log is as it was written. */
export type VerifiedLog =
  | { readonly kind: 'whole'; readonly head: AuditHead }
  /** The first entry that is not as it was, and what is wrong there. */
  | { readonly kind: 'broken'; readonly sequence: number; readonly what: BrokenChain }

export type BrokenChain =
  /** Its own hash is another one. */
  | 'edited'
  /** It is not there. */
  | 'missing'
  /** It does not follow the one before it. */
  | 'moved'
  /** The log ends before or after the place where it was left. */
  | 'cut'
  /** It is not the log whose end somebody has written down elsewhere. */
  | 'replaced'

/** What somebody has written down about the end of the log, at some time, in a place that nobody edits here. */
export type Anchor = AuditHead

/**
 * Walks the whole log. What follows the head when it begins may be written meanwhile, and is left to the next time. `passed`
 * hears how far it is.
 */
export async function verified(
  audit: Pick<AuditStore, 'list' | 'head'>,
  { anchor, passed }: { readonly anchor?: Anchor; readonly passed?: (sequence: number, of: number) => void } = {},
): Promise<VerifiedLog> {
  const head = await audit.head()
  let last: AuditHead = { sequence: 0, hash: '' }
  let after: string | undefined
  let isLonger = false
  const isAtHead = () => last.sequence === head.sequence && last.hash === head.hash
  do {
    const page = await audit.list({ limit: limits.page, ...(after !== undefined && { after }) })
    for (const entry of page.entries) {
      isLonger = isAtHead()
      if (isLonger) break
      const what = wrongWith(entry, last)
      if (what !== undefined) return { kind: 'broken', sequence: last.sequence + 1, what }
      last = { sequence: entry.sequence, hash: entry.hash }
      if (last.sequence === anchor?.sequence && last.hash !== anchor.hash)
        return { kind: 'broken', sequence: last.sequence, what: 'replaced' }
    }
    passed?.(last.sequence, head.sequence)
    after = isLonger ? undefined : page.next
  } while (after !== undefined)
  // What was written meanwhile has moved the head with it.
  const isOverlong = isLonger && (await audit.head()).sequence === head.sequence
  if (!isAtHead() || isOverlong || last.sequence < (anchor?.sequence ?? 0))
    return { kind: 'broken', sequence: Math.min(last.sequence, head.sequence) + 1, what: 'cut' }
  return { kind: 'whole', head }
}

function wrongWith(entry: AuditEntry, last: AuditHead): BrokenChain | undefined {
  if (entry.sequence !== last.sequence + 1) return 'missing'
  if (hashOf(entry) !== entry.hash) return 'edited'
  return entry.previous === last.hash ? undefined : 'moved'
}
