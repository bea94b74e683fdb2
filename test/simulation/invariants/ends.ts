import type { StoredRecord } from '../../../src/engine/record.js'
import { callingAlone, firstOf, type Program, secondOf, services, subjectOf } from '../application.js'
import type { Act } from '../provider.js'
import { demand } from '../violation.js'
import { isGivenUp } from './bounds.js'

/** What a request of each program has led to when it was answered with 201. */
const results: Readonly<Record<Program, { readonly acts: readonly string[]; readonly rows: readonly string[] }>> = {
  plain: { acts: [services.payout.name], rows: [] },
  deposits: { acts: [services.deposit.name], rows: [] },
  rides: { acts: [services.charge.name, services.receipt.name], rows: ['rides'] },
  transfers: { acts: [services.transfer.name], rows: ['transfers'] },
  letters: { acts: [services.letter.name], rows: [] },
  sales: { acts: [services.shipment.name], rows: ['sales', 'shipped'] },
}

export interface Aftermath {
  /** Those of its lives, where a key has had several. */
  readonly ledger: readonly Act[]
  /** Whether this row has committed. */
  hasRow(table: string, id: string): boolean
  /** Whether its effects are left to people, or wait behind what is. */
  isLeftOver(subject: string): boolean
}

/** At the end everything that was answered has happened, once. */
export function judgeEnd(program: Program, record: StoredRecord, { ledger, hasRow, isLeftOver }: Aftermath): void {
  const subject = subjectOf({ tenant: record.scope, key: record.key }, record.generation)
  const { acts, rows } = results[program]
  const times = (service: string) => timesOf(ledger, service, subject)
  const isDenied = ledger.some((act) => act.subject === subject && act.isDenied === true)
  // Of what nobody knows nothing is demanded, nor of what nobody remembers.
  if (statusOf(record) !== 201 || isLeftOver(subject)) return
  const hasFee = record.answer?.kind === 'kept' && saysFee(record.answer.body)
  for (const service of hasFee ? [...acts, services.fee.name] : acts) {
    const count = times(service)
    demand(
      count === 1 || (isDenied && count > 1),
      () => `${subject} was answered, and there are ${count} of ${service}`,
    )
  }
  if (hasFee) judgeSecond(subject, ledger)
  for (const table of rows)
    demand(hasRow(table, subject), () => `${subject} was answered, and its row of ${table} is missing`)
}

/** What nobody can write down is said by handlers that have done all that they have to. */
function statusOf({ answer }: StoredRecord): number | undefined {
  return answer?.status === 0 ? 201 : answer?.status
}

function judgeSecond(subject: string, ledger: readonly Act[]): void {
  const receipts = timesOf(ledger, services.receipt.name, secondOf(subject))
  demand(receipts === 1, () => `${subject} was answered, and its second receipt was sent ${receipts} times`)
}

function timesOf(ledger: readonly Act[], service: string, subject: string): number {
  return ledger.filter((act) => act.service === service && act.subject === subject).length
}

/** Only who has asked for a ride with a fee is told of one. */
function saysFee(body: Uint8Array): boolean {
  return Buffer.from(body).includes('"fee":')
}

/** Something that happened for good: what a provider did, or a row of the application. */
export interface Happened {
  readonly what: string
  readonly subject: string
  /** Whoever did it has said since that he had not. */
  readonly isDenied?: true | undefined
}

/** Rows of the first phase of an operation stand, whatever it is answered with, unless that says that they do not. */
const firstRows: ReadonlySet<string> = new Set(['rides'])

/** What was called stands, too, where the handler failed behind it, and its failure is an answer. */
const called: ReadonlySet<string> = new Set(['charge', 'fee', 'transfer', 'letter'])

/** Whether it may have happened to a request that was answered with this. */
function mayStand(what: string, status: number): boolean {
  if (status === 201) return true
  if (status === 200) return false
  // An operation commits a failure that it answers, and that is for good, with what it asks for then; what throws is undone.
  return firstRows.has(what) || (status >= 500 && called.has(what)) || (status === 503 && what === 'receipt')
}

/** Nothing else has: whatever happened, happened for a record, and is what its answer says. */
export function judgeHappened(
  { what, subject, isDenied }: Happened,
  recordOf: (name: string) => StoredRecord | undefined,
): void {
  const at = subject.lastIndexOf('#')
  const record = recordOf(subject.slice(0, at))
  const generation = Number(firstOf(subject).slice(at + 1))
  demand(record !== undefined, () => `there is a ${what} for ${subject}, and no record`)
  demand(generation <= record.generation, () => `there is a ${what} for ${subject}, which has never begun`)
  // An earlier generation has ended before; and of what nobody knows or remembers nothing is demanded.
  if (generation < record.generation || record.state === 'unknown' || record.state === 'expired') return
  // Who makes his calls by himself has made them, though he failed then, or crashed: his client asks again, or does not.
  if (record.operation === 'deposits' && record.state !== 'completed') return
  // What never comes to its end has happened as far as it came.
  if (isGivenUp(record)) return
  // What was denied waits for its client; and one without a key has none who could come back.
  if (isDenied && record.state === 'failed_retryable') return
  const { acts, rows } = results[record.operation as Program]
  const isOwn = acts.includes(what) || rows.includes(what) || (what === 'fee' && acts.includes('charge'))
  demand(isOwn, () => `there is a ${what} for ${subject}, which is none of the ${record.operation}`)
  const status = statusOf(record)
  const isAnswered = status !== undefined && mayStand(what, status)
  demand(isAnswered, () => `there is a ${what} for ${subject}, which is ${stateOf(record)}`)
}

function stateOf({ state, answer }: StoredRecord): string {
  return answer === undefined ? state : `answered with ${answer.status}`
}

/** Whether nobody needs to come back to it: it has come to its end, or to the operator's queue, which is all that is unknown. */
export function isOver({ state }: StoredRecord): boolean {
  return state === 'completed' || state === 'expired' || state === 'unknown'
}

/** Whether nothing more will happen to it by itself, short of a client or a person. `now` is the database's time. */
export function isSettled(record: StoredRecord, now: number): boolean {
  const { state, operation, recoveryPoint, isBegun, leaseUntil = 0 } = record
  if (state === 'completed' || state === 'expired') return true
  // Nobody can ask about what a handler did by itself: it waits for a person, whose queue is all that is unknown.
  if (state === 'unknown') return callingAlone.has(operation)
  // Whoever is no operation goes on with its client alone.
  if (state === 'in_progress') return operation === 'deposits' && leaseUntil <= now
  if (isGivenUp(record)) return true
  const isClients = callingAlone.has(operation) || operation === 'sales'
  return isClients || (recoveryPoint === 'started' && !isBegun)
}
