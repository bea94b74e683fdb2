import type { Heard } from '../engine/chores.js'
import type { Both } from '../workers/ledger.js'
import type { OpenEngine } from './engine.js'

/** What came of what a ledger said, by how many. */
export type Testified = Readonly<Record<Heard, number>>

export function testifiedIn(testified: Testified): number {
  return Object.values(testified).reduce((sum, one) => sum + one, 0)
}

/** Keeps what a ledger says about our doubts. What fails on the way says how far it came. */
export async function testifyAll(
  hapax: OpenEngine['hapax'],
  open: readonly Both[],
  ledger: string,
): Promise<Testified> {
  const testified = { settled: 0, looked_at_next: 0, left_to_operator: 0, kept: 0 }
  try {
    for (const one of open) testified[await testify(hapax, one, ledger)]++
  } catch (error) {
    console.error(
      `hapax: ${testifiedIn(testified)} of ${open.length} testified, then it failed; do it again for the rest.`,
    )
    throw error
  }
  return testified
}

/** Who lists it says that it was done; what the call would have returned a ledger does not say. */
function testify(hapax: OpenEngine['hapax'], { ours, theirs }: Both, ledger: string): Promise<Heard> {
  const why = `the ledger ${ledger} has it${theirs.id === undefined ? '' : ` as ${theirs.id}`}`.slice(0, 255)
  return hapax.testify({ downstreamKey: ours.key, says: 'landed', by: 'ledger', why })
}
