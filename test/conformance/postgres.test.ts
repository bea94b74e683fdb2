import { test } from 'vitest'
import { declareConformance } from './declare.js'
import { postgresHarness } from './postgres-harness.js'
import { pgLibrary, postgresJs } from './postgres-libraries.js'

const serverUrl = process.env.HAPAX_TEST_POSTGRES_URL

if (serverUrl === undefined)
  test.skip('the postgres store (skipped: no PostgreSQL, set HAPAX_TEST_POSTGRES_URL)', () => {})
else {
  declareConformance(
    postgresHarness({ name: 'postgres, by pg', library: pgLibrary, serverUrl, url: serverUrl, connection: 'direct' }),
  )
  declareConformance(
    postgresHarness({
      name: 'postgres, by postgres.js',
      library: postgresJs,
      serverUrl,
      url: serverUrl,
      connection: 'direct',
    }),
  )
}
