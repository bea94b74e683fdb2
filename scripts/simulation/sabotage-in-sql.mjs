/** Plants known bugs into the statements of a PostgreSQL store, on a real server, and sees that the suite catches each. */
import { tmpdir } from 'node:os'
import process from 'node:process'
import { folderInMemory } from '../folder-in-memory.mjs'
import { script } from '../parts.mjs'
import { startPostgres } from '../postgres.mjs'
import { run } from '../processes.mjs'
import { runTitled } from '../vitest.mjs'
import { bundled } from './bundle.mjs'

/**
 * A bug, and the case of the suite that must catch it.
 *
 * @typedef {{ readonly bug: string, readonly caughtBy: string }} BugInSql
 *
 * @typedef {Pick<import('../vitest.mjs').Results, 'tests' | 'unheard'>} Results
 * @typedef {import('../postgres.mjs').Missing} Missing
 */

/** Plants them. */
const file = 'test/conformance/postgres-sabotage.test.ts'

/** How it calls a case on statements that are as they should be. */
const unharmed = 'with no fault planted the Postgres store keeps this: '

/** All of them take some seconds. One that nobody notices takes twenty more, and they are some dozens. */
const withinMs = 15 * 60_000

/** @returns {Promise<readonly BugInSql[]>} */
export async function bugsInSql() {
  const entry = 'test/conformance/planted-postgres-faults.ts'
  const { plantedPostgresFaults, nameOf } = await import(await bundled('postgres-faults', { entry }))
  return plantedPostgresFaults.map((/** @type {BugInSql} */ planted) => ({
    bug: nameOf(planted),
    caughtBy: planted.caughtBy,
  }))
}

/**
 * @param {readonly BugInSql[]} bugs
 * @param {string} words by which they were asked for
 * @returns {Promise<{ caught: number, missing?: string }>} and why there is no server, where there is none
 */
export async function sabotageInSql(bugs, words) {
  if (bugs.length === 0) return { caught: 0 }
  process.env.TMPDIR = folderInMemory() ?? tmpdir()
  const postgres = await startPostgres(console.log).catch(missing)
  if (postgres.kind === 'missing') {
    const why = `✗ No PostgreSQL could be started, so nothing was planted into SQL: ${postgres.reason}`
    console.error(why)
    return { caught: 0, missing: why }
  }
  console.log(`${bugs.length} bugs are planted into SQL, on the PostgreSQL from ${postgres.source}`)
  const results = await tested(bugs, postgres).catch(thrown)
  await postgres.stop()
  return { caught: bugs.filter((planted) => isCaught(planted, results, words)).length }
}

/**
 * @param {unknown} error
 * @returns {Missing}
 */
function missing(error) {
  return { kind: 'missing', reason: error instanceof Error ? error.message : String(error) }
}

/**
 * @param {readonly BugInSql[]} bugs
 * @param {import('../postgres.mjs').Running} postgres
 */
async function tested(bugs, postgres) {
  // The tests import what is published.
  if (!(await run(script('build'), { stdout: process.stderr, withinMs }))) throw new Error('the build failed')
  const titles = bugs.flatMap(({ bug, caughtBy }) => [bug, `${unharmed}${caughtBy}`])
  return runTitled(file, titles, { postgres, withinMs })
}

/**
 * @param {unknown} error
 * @returns {Results}
 */
function thrown(error) {
  return { tests: [], unheard: [String(error)] }
}

/**
 * @param {BugInSql} planted
 * @param {Results} results
 * @param {string} words
 */
function isCaught({ bug, caughtBy }, results, words) {
  const found = results.tests.find(({ title }) => title === bug)
  const control = results.tests.find(({ title }) => title === `${unharmed}${caughtBy}`)
  const missed = whyMissed(found, control, results)
  if (missed !== undefined) {
    console.error(`✗ ${bug}: ${missed}`)
    return false
  }
  console.log(`✓ ${bug}: caught (${((found?.ms ?? 0) / 1_000).toFixed(1)} s)`)
  if (words !== '') console.log(`  by a case of the suite: ${caughtBy}`)
  return true
}

/**
 * @param {import('../vitest.mjs').TestResult | undefined} found
 * @param {import('../vitest.mjs').TestResult | undefined} control
 * @param {Results} results
 */
function whyMissed(found, control, { unheard }) {
  const [error] = unheard
  if (error !== undefined) return `nobody judged it, something was thrown: ${error}`
  if (found === undefined || control === undefined) return `${file} has not run it`
  if (control.outcome !== 'passed') return `its case fails where nothing is planted, too: ${whyFailed(control)}`
  return found.outcome === 'passed' ? undefined : whyFailed(found)
}

/** @param {import('../vitest.mjs').TestResult} test */
function whyFailed({ outcome, failures: [failure = outcome] }) {
  return failure.split('\n')[0]
}
