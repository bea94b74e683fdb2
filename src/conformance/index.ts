/** `hapax/conformance`: proves a store against the promises of the port, under any test runner. */
export type { BusinessRows, Capability, StoreBench, StoreHarness } from './harness.js'
export { type ConformanceCase, storeConformance } from './store-conformance.js'
