/** One case of the store conformance suite on the simulated store, bundled with the source that a bug was planted in. */
import { AssertionError } from 'node:assert'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { storeConformance } from '../../src/conformance/store-conformance.js'
import { simulatedHarness } from '../conformance/simulated-harness.js'
import { working } from './working.js'

const asked = createInterface({ input: process.stdin })
const [task] = (await once(asked, 'line')) as [string]
asked.close()
const { name } = JSON.parse(task) as { readonly name: string }
const found = storeConformance(simulatedHarness as never).find((one) => one.name === name)
if (found === undefined) throw new Error(`The suite has no case “${name}”.`)
await working(() => found.run()).then(
  () => console.log(JSON.stringify({ kind: 'passed' })),
  (error: unknown) => {
    // Only what the case itself says counts: whatever else is thrown shows nothing.
    const how = error instanceof AssertionError ? 'violation' : 'thrown'
    console.log(JSON.stringify({ kind: 'failed', name, error: String(error), how, setting: [], trace: [] }))
  },
)
