import type { Connection } from './connection.js'
import { type Fault, faultOf } from './faults.js'
import type { Operation, Outcome, StepName, StepResult, Steps } from './protocol.js'
import { stepsAt } from './steps.js'
import type { Tables } from './tables.js'

/** An open database: the connection and what is kept in it. */
export interface Database extends Tables {
  readonly connection: Connection
}

/**
 * Runs all operations in one transaction, so that they share one fsync. When one of them fails, nothing of the
 * transaction has happened, and each is run again in a transaction of its own: only the culprit fails. When the
 * database itself refuses (no lock, no commit), all that are left fail alike.
 */
export function runBatch(database: Database, operations: readonly Operation[]): readonly Outcome[] {
  const together = attempt(database, operations)
  if (together.kind === 'done') return together.outcomes
  if (together.kind === 'refused' || operations.length === 1) return operations.map(() => failed(together.fault))
  return runApart(database, operations)
}

type Attempt =
  | { readonly kind: 'done'; readonly outcomes: readonly Outcome[] }
  /** An operation threw. */
  | { readonly kind: 'spoiled'; readonly fault: Fault }
  /** The database gave no lock, or did not commit. */
  | { readonly kind: 'refused'; readonly fault: Fault }

function runApart(database: Database, operations: readonly Operation[]): readonly Outcome[] {
  const outcomes: Outcome[] = []
  let refusal: Fault | undefined
  for (const operation of operations) {
    const alone: Attempt = refusal ? { kind: 'refused', fault: refusal } : attempt(database, [operation])
    if (alone.kind === 'refused') refusal = alone.fault
    outcomes.push(...(alone.kind === 'done' ? alone.outcomes : [failed(alone.fault)]))
  }
  return outcomes
}

function attempt(database: Database, operations: readonly Operation[]): Attempt {
  const { connection } = database
  let kind: 'refused' | 'spoiled' = 'refused'
  try {
    connection.exec(operations.every(isRead) ? 'BEGIN' : 'BEGIN IMMEDIATE')
    kind = 'spoiled'
    const steps = stepsAt(database.records.now(), database)
    const outcomes = operations.map((operation): Outcome => ({ kind: 'done', value: perform(steps, operation) }))
    kind = 'refused'
    connection.exec('COMMIT')
    return { kind: 'done', outcomes }
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK')
    return { kind, fault: faultOf(error) }
  }
}

/** Reading needs no lock, so it never waits for a writer in another process. */
function isRead({ name }: Operation): boolean {
  return reads.has(name)
}

const reads: ReadonlySet<StepName> = new Set<StepName>([
  'find',
  'list',
  'usage',
  'measure',
  'reapable',
  'tenants',
  'interrupted',
  'effects.find',
  'effects.findByKey',
  'effects.list',
  'calls.find',
  'calls.list',
  'calls.testimonies',
  'audit.list',
  'audit.head',
])

function perform<K extends StepName>(steps: Steps, { name, args }: Operation<K>): StepResult<K> {
  return steps[name](...args)
}

function failed(fault: Fault): Outcome {
  return { kind: 'failed', fault }
}
