import type { RecordChange } from './records.js'

/** Since when each record has been kept, by the database's clock. */
export interface Retention {
  note(change: RecordChange): void
  /** Of `tenant/key`. */
  since(name: string): number
  toJSON(): unknown
}

/** Told by what happened to the record, whatever the engine has written about it: when it was taken, answered or settled last. */
export function retention(): Retention {
  const begun = new Map<string, number>()
  return {
    toJSON: () => [...begun],
    since: (name) => begun.get(name) ?? Number.POSITIVE_INFINITY,
    note(change) {
      if (restarts(change)) begun.set(`${change.after?.scope}/${change.after?.key}`, change.at)
    },
  }
}

function restarts({ before, after }: RecordChange): boolean {
  if (after === undefined) return false
  if (before === undefined || after.fence > before.fence) return true
  return (after.state === 'completed' && before.state !== 'completed') || after.evidence.length > before.evidence.length
}
