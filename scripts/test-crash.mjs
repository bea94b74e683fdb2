/**
 * `npm run test:crash`: kills a real process at every crash point, on SQLite, and on PostgreSQL where there is one. It says
 * how each was killed, on which store, and what the provider's ledger had at the end.
 */
import process from 'node:process'
import { install, requireNode } from './install.mjs'
import { runScript } from './parts.mjs'
import { exitOnSignals, run } from './processes.mjs'

requireNode()
exitOnSignals()
await install(console.error)
// The victims run the library as it is published.
const { outcome } = await runScript('build')
if (process.env.HAPAX_TEST_POSTGRES_URL === undefined)
  console.log('\nno HAPAX_TEST_POSTGRES_URL: processes are killed on SQLite only')
process.exitCode = outcome === 'passed' && (await run('vitest run --project crash')) ? 0 : 1
