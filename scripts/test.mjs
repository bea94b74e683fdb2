/**
 * `npm test`: installs what is missing, starts the servers, runs everything, stops them, simulates, and ends with one line of
 * counts. `npm run acceptance` is the same with the acceptance tests alone.
 */
import { tmpdir } from 'node:os'
import process from 'node:process'
import { reportAcceptance } from './acceptance/report.mjs'
import { buildScripts } from './build.mjs'
import { count } from './count.mjs'
import { folderInMemory } from './folder-in-memory.mjs'
import { chromium, foundProgram, prometheus, redis } from './found-program.mjs'
import { install, requireNode } from './install.mjs'
import { printTimes, runPart, runScript } from './parts.mjs'
import { startPgbouncer } from './pgbouncer.mjs'
import { startPostgres } from './postgres.mjs'
import { exitOnSignals, run } from './processes.mjs'
import { reportFailures, reportSkips, runVitest } from './vitest.mjs'

const isAcceptanceOnly = process.argv[2] === 'acceptance'

/** @type {import('./parts.mjs').Part[]} */
const parts = []
/** @type {import('./vitest.mjs').Results} */
let results = { tests: [], brokenFiles: [], unheard: [] }

requireNode()
exitOnSignals()
// Without dependencies every other part would fail too, and say less.
if ((await add('install', installDependencies)) === 'passed') await runEverything()
finish()

async function runEverything() {
  const scripts = isAcceptanceOnly ? buildScripts : ['lint', ...buildScripts, 'types', 'boundaries']
  for (const name of scripts) parts.push(await runScript(name))
  await runTests()
  if (!isAcceptanceOnly) await add('simulation', simulate)
  await add('acceptance', async () => (reportAcceptance(results) ? 'passed' : 'failed'))
  if (!isAcceptanceOnly) parts.push(await runScript('package'))
  await add('skips', async () => (reportSkips(results) ? 'passed' : 'failed'))
}

async function runTests() {
  process.env.TMPDIR = folderInMemory() ?? tmpdir()
  const programs = isAcceptanceOnly ? [prometheus] : [chromium, redis, prometheus]
  for (const program of programs) await add(program.title.toLowerCase(), () => prepare(program))
  const postgres = await startServer('PostgreSQL', startPostgres)
  const pgbouncer = await startServer('pgbouncer', (say) => startPgbouncer(postgres, say))
  await add('tests', async () => {
    const { passed, ...found } = await runVitest(isAcceptanceOnly ? 'test/acceptance' : '', { postgres, pgbouncer })
    results = found
    return passed ? 'passed' : 'failed'
  })
  for (const server of [pgbouncer, postgres]) if (server.kind === 'running') await server.stop()
}

/**
 * Tests that need a server we do not have say so and are skipped; on CI that fails the run.
 *
 * @param {'PostgreSQL' | 'pgbouncer'} name
 * @param {(say: (line: string) => void) => Promise<import('./postgres.mjs').Postgres>} start
 * @returns {Promise<import('./postgres.mjs').Postgres>}
 */
async function startServer(name, start) {
  /** @type {import('./postgres.mjs').Postgres} */
  let server = { kind: 'missing', reason: 'it could not be looked for' }
  await add(name.toLowerCase(), async () => {
    server = await start(console.log)
    console.log(server.kind === 'running' ? `from ${server.source}` : `no ${name}: ${server.reason}`)
    if (server.kind === 'running') return 'passed'
    return process.env.CI === 'true' ? 'failed' : 'skipped'
  })
  return server
}

/**
 * The tests find it by its name in the environment.
 *
 * @param {import('./found-program.mjs').Program} program
 * @returns {Promise<import('./parts.mjs').Outcome>}
 */
async function prepare(program) {
  try {
    process.env[program.variable] = await foundProgram(program, console.log)
    return 'passed'
  } catch (error) {
    console.log(`no ${program.title}: ${error instanceof Error ? error.message : error}`)
    return process.env.CI === 'true' ? 'failed' : 'skipped'
  }
}

/**
 * @param {string} name
 * @param {() => Promise<import('./parts.mjs').Outcome>} work
 */
async function add(name, work) {
  const part = await runPart(name, work)
  parts.push(part)
  return part.outcome
}

/** @returns {Promise<'passed'>} */
async function installDependencies() {
  await install(console.log)
  return 'passed'
}

/** Random schedules, 200,000 or as many as fit in two minutes, which it says. Of the small cases the tests run the first ones; all take longer: `npm run simulate`. */
async function simulate() {
  return (await run('node scripts/simulate.mjs --random --schedules 200000 --minutes 2')) ? 'passed' : 'failed'
}

function finish() {
  printTimes(parts)
  reportFailures(results)
  const { passed, failed, skipped } = count(parts, results)
  console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped`)
  process.exitCode = failed === 0 ? 0 : 1
}
