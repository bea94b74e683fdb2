import type { Capability, StoreHarness } from './harness.js'
import { play, type Show } from './stage.js'
import { abandoning } from './store/abandoning.js'
import { answers } from './store/answers.js'
import { askingFirst } from './store/asking-first.js'
import { audit } from './store/audit.js'
import { auditEffects } from './store/audit-effects.js'
import { bounds } from './store/bounds.js'
import { calls } from './store/calls.js'
import { clocks } from './store/clocks.js'
import { crowds } from './store/crowds.js'
import { doubt } from './store/doubt.js'
import { effectClaims } from './store/effect-claims.js'
import { effectCommits } from './store/effect-commits.js'
import { effectDoubts } from './store/effect-doubts.js'
import { effectOrders } from './store/effect-orders.js'
import { effectSettlements } from './store/effect-settlements.js'
import { expiry } from './store/expiry.js'
import { faults } from './store/faults.js'
import { fencing } from './store/fencing.js'
import { forgetting, forgettingEffects } from './store/forgetting.js'
import { housekeeping } from './store/housekeeping.js'
import { inbox } from './store/inbox.js'
import { leases } from './store/leases.js'
import { listing } from './store/listing.js'
import { measuring, measuringEffects } from './store/measuring.js'
import { ownership } from './store/ownership.js'
import { refusals } from './store/refusals.js'
import { releasing } from './store/releasing.js'
import { reserving } from './store/reserving.js'
import { single, singleEffects } from './store/single.js'
import { traces } from './store/traces.js'
import { transactionFaults } from './store/transaction-faults.js'
import { transactions } from './store/transactions.js'
import { usage } from './store/usage.js'
import { waiting } from './store/waiting.js'

/** One promise of the port. Hand it to any test runner. */
export interface ConformanceCase {
  readonly subject: string
  /** The promise, as a sentence; no two cases share it. */
  readonly name: string
  /** Why this store need not keep the promise, in the words of its harness. */
  readonly skip: string | undefined
  /** Resolves when the promise holds, rejects when it does not. */
  run(): Promise<void>
}

/**
 * Every promise that a store makes to the engine, as cases for any test runner.
 *
 * @example
 * for (const { name, skip, run } of storeConformance(harness)) {
 *   test(name, { skip: skip ?? false }, run)
 * }
 */
export function storeConformance<Tx>(harness: StoreHarness<Tx>): readonly ConformanceCase[] {
  return subjects.flatMap(({ subject, needs, promises }) => {
    const lacking = needs.find((capability) => harness.lacks[capability] !== undefined)
    const skip = lacking && harness.lacks[lacking]
    return Object.entries(promises).map(([name, show]) => ({ subject, name, skip, run: () => play(harness, show) }))
  })
}

interface Subject {
  readonly subject: string
  readonly needs: readonly Capability[]
  readonly promises: Readonly<Record<string, Show>>
}

const subjects: readonly Subject[] = [
  { subject: 'reserving', needs: [], promises: reserving },
  { subject: 'asking first', needs: [], promises: askingFirst },
  { subject: 'releasing', needs: [], promises: releasing },
  { subject: 'refusals', needs: [], promises: refusals },
  { subject: 'crowds', needs: [], promises: crowds },
  { subject: 'fencing', needs: [], promises: fencing },
  { subject: 'leases', needs: [], promises: leases },
  { subject: 'clocks', needs: [], promises: clocks },
  { subject: 'expiry', needs: [], promises: expiry },
  { subject: 'answers', needs: [], promises: answers },
  { subject: 'traces', needs: [], promises: traces },
  { subject: 'ownership', needs: [], promises: ownership },
  { subject: 'doubt', needs: [], promises: doubt },
  { subject: 'abandoning', needs: [], promises: abandoning },
  { subject: 'housekeeping', needs: [], promises: housekeeping },
  { subject: 'listing', needs: [], promises: listing },
  { subject: 'usage', needs: [], promises: usage },
  { subject: 'measuring', needs: ['measure'], promises: measuring },
  { subject: 'measuring', needs: ['measure', 'effects', 'transactions'], promises: measuringEffects },
  { subject: 'waiting', needs: [], promises: waiting },
  { subject: 'calls', needs: ['calls'], promises: calls },
  { subject: 'forgetting', needs: ['calls'], promises: forgetting },
  { subject: 'forgetting', needs: ['calls', 'effects', 'transactions'], promises: forgettingEffects },
  { subject: 'bounds', needs: [], promises: bounds },
  { subject: 'transactions', needs: ['transactions'], promises: transactions },
  { subject: 'single', needs: ['single', 'transactions'], promises: single },
  { subject: 'single', needs: ['single', 'effects', 'transactions'], promises: singleEffects },
  { subject: 'effects', needs: ['effects'], promises: effectClaims },
  { subject: 'effects', needs: ['effects'], promises: effectOrders },
  { subject: 'effects', needs: ['effects'], promises: effectSettlements },
  { subject: 'effects', needs: ['effects'], promises: effectDoubts },
  { subject: 'effects', needs: ['effects', 'transactions'], promises: effectCommits },
  { subject: 'inbox', needs: ['inbox', 'transactions'], promises: inbox },
  { subject: 'audit', needs: ['audit'], promises: audit },
  { subject: 'audit', needs: ['audit', 'effects', 'calls', 'transactions'], promises: auditEffects },
  { subject: 'faults', needs: ['cut'], promises: faults },
  { subject: 'transaction faults', needs: ['transactions', 'cut'], promises: transactionFaults },
]
