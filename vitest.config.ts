import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** What starts databases, processes or programs of the docs. Everything else is quick and runs in `npm run check`. */
const integration = [
  'test/{acceptance,cli,conformance,docs,effects,sandbox,stores}/**/*.test.ts',
  'test/tooling/{postgres*,pgbouncer*,simulate}.test.ts',
  'test/engine/{phases,calls,operations,reconcile,late-results,handed-out,single,extend,failed-commits,forgotten-keys,thrown-over-calls}.test.ts',
  'test/http/operations.test.ts',
  'test/client/{browser,killed,page-types}.test.ts',
  'test/simulation/shrinking.test.ts',
  'test/telemetry/{dashboard,promtool,opentelemetry,leaks}.test.ts',
]

/** What kills processes: by itself `npm run test:crash`. */
const crash = ['test/crash/**/*.test.ts']

export default defineConfig({
  test: {
    // `npm run acceptance` prints where each row is shown.
    includeTaskLocation: true,
    // Most files wait for databases and processes most of their time: one at a time leaves half of a small machine idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: [...integration, ...crash] } },
      {
        extends: true,
        // Hooks start and end nodes, databases and partners: on a busy machine that takes longer than a test may.
        test: { name: 'integration', include: integration, testTimeout: 30_000, hookTimeout: 60_000 },
      },
      // Each test waits for processes, most of the time; more at once than these get in each other's way.
      { extends: true, test: { name: 'crash', include: crash, testTimeout: 60_000, maxConcurrency: 3 } },
      {
        extends: true,
        test: {
          name: 'types',
          include: [],
          typecheck: {
            enabled: true,
            only: true,
            include: ['test/types/**/*.test-d.ts'],
            tsconfig: 'test/types/tsconfig.json',
          },
        },
      },
    ],
  },
})
