/** One case of the store conformance suite on the simulated store, bundled with the source that a bug was planted in. */
import { storeConformance } from '../../src/conformance/store-conformance.js'
import { simulatedHarness } from '../conformance/simulated-harness.js'

const { name } = JSON.parse(process.argv[2] ?? '{}') as { readonly name: string }
const found = storeConformance(simulatedHarness as never).find((one) => one.name === name)
if (found === undefined) throw new Error(`The suite has no case “${name}”.`)
await found.run().then(
  () => console.log(JSON.stringify({ kind: 'seed', seed: 0, schedules: 1 })),
  (error: unknown) =>
    console.log(JSON.stringify({ kind: 'failed', error: String(error), how: 'violation', trace: [] })),
)
