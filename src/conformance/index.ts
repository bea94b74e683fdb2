/** `hapax/conformance`: proves a store, or an HTTP adapter, against its promises, under any test runner. */
export type { BusinessRows, Capability, StoreBench, StoreHarness } from './harness.js'
export type { Handed, HttpApp, HttpHarness, HttpRoute, Said, Served } from './http/harness.js'
export { httpConformance } from './http-conformance.js'
export { type ConformanceCase, storeConformance } from './store-conformance.js'
