import { test } from 'vitest'
import { declareConformance } from './declare.js'
import { postgresHarness } from './postgres-harness.js'

const url = process.env.HAPAX_TEST_POSTGRES_URL

if (url !== undefined) declareConformance(postgresHarness(url))
else test.skip('the postgres store (skipped: no PostgreSQL, set HAPAX_TEST_POSTGRES_URL)', () => {})
