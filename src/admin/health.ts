import type { Finding } from '../engine/finding.js'
import type { Operating } from '../engine/operating.js'

/** Whether a store is fit to serve: its schema, its clock, how it is replicated, as `hapax doctor` says. */
export interface Health {
  readonly fit: boolean
  readonly store: string
  readonly grade: string
  /** Empty where the store has nothing to look at. */
  readonly findings: readonly Finding[]
}

export async function healthOf(operating: Operating): Promise<Health> {
  const findings = (await operating.examine()) ?? []
  const { name, grade } = operating.store
  return { fit: findings.every(({ level }) => level !== 'broken'), store: name, grade, findings }
}
