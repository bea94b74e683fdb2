/**
 * `npm run test:crash`: kills a real process at every crash point, on SQLite, and on PostgreSQL where there is one. It says
 * how each was killed, on which store, and what the provider's ledger had at the end.
 */
import process from 'node:process'
import { buildScripts } from './build.mjs'
import { runScript } from './parts.mjs'
import { exitOnSignals, run } from './processes.mjs'

exitOnSignals()
const built = []
for (const name of buildScripts) built.push(await runScript(name))
if (process.env.HAPAX_TEST_POSTGRES_URL === undefined)
  console.log('\nno HAPAX_TEST_POSTGRES_URL: processes are killed on SQLite only')
const passed = built.every(({ outcome }) => outcome === 'passed') && (await run('vitest run --project crash'))
process.exitCode = passed ? 0 : 1
