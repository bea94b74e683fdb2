import type { Both } from '../workers/ledger.js'
import type { OpenEngine } from './engine.js'

/** Keeps what a ledger says about our doubts. Gives how many; what fails on the way says how far it came. */
export async function testifyAll(hapax: OpenEngine['hapax'], open: readonly Both[], ledger: string): Promise<number> {
  let testified = 0
  try {
    for (const one of open) {
      await testify(hapax, one, ledger)
      testified++
    }
  } catch (error) {
    console.error(`hapax: ${testified} of ${open.length} testified, then it failed; do it again for the rest.`)
    throw error
  }
  return testified
}

/** Who lists it says that it was done; what the call would have returned a ledger does not say. */
function testify(hapax: OpenEngine['hapax'], { ours, theirs }: Both, ledger: string): Promise<void> {
  const why = `the ledger ${ledger} has it${theirs.id === undefined ? '' : ` as ${theirs.id}`}`.slice(0, 255)
  return hapax.testify({ downstreamKey: ours.key, says: 'landed', by: 'ledger', why })
}
