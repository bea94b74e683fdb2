import { defineConfig } from 'vitest/config'

/** What starts databases, processes or programs of the docs. Everything else is quick and runs in `npm run check`. */
const integration = [
  'test/{acceptance,cli,conformance,docs,effects,sandbox,stores}/**/*.test.ts',
  'test/tooling/{postgres,pgbouncer}*.test.ts',
]

export default defineConfig({
  test: {
    // `npm run acceptance` prints where each row is shown.
    includeTaskLocation: true,
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: integration } },
      { extends: true, test: { name: 'integration', include: integration, testTimeout: 30_000 } },
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
