import type { KeptTestimony } from './call-store.js'
import { changedRecord } from './changed.js'
import type { StoredAnswer, StoredRecord } from './record.js'

/** Copies that share no bytes, for a store that keeps what it was given in memory: whoever overwrites his own changes nothing. */

export function copyOfRecord(record: StoredRecord): StoredRecord {
  const { progress, answer, evidence } = record
  // Without bytes and lists there is nothing in it that anybody could overwrite.
  if (progress === undefined && answer === undefined && evidence.length === 0) return record
  return changedRecord(record, {
    progress: progress && Buffer.from(progress),
    answer: answer && copyOfAnswer(answer),
    evidence: evidence.length === 0 ? nothingSaid : evidence.map((said) => ({ ...said })),
  })
}

const nothingSaid: StoredRecord['evidence'] = Object.freeze([])

export function copyOfAnswer(answer: StoredAnswer): StoredAnswer {
  const { status } = answer
  const headers = answer.headers.map(([name, value]) => [name, value] as const)
  if (answer.kind === 'withheld') return { kind: 'withheld', status, headers, bytes: answer.bytes }
  return { kind: 'kept', status, headers, body: Buffer.from(answer.body) }
}

/** Without what a store knows of it besides. */
export function copyOfTestimony({ downstreamKey, says, result, by, why, at }: KeptTestimony): KeptTestimony {
  return { downstreamKey, says, ...(result !== undefined && { result: Buffer.from(result) }), by, why, at }
}
