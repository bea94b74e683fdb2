/** Runs vitest, and tells in our words what its JSON report says. */
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { run } from './processes.mjs'
import { root } from './root.mjs'

/**
 * @typedef {object} TestResult
 * @property {string} file
 * @property {number} line
 * @property {string} title
 * @property {readonly string[]} groups the titles of those around it
 * @property {string} fullTitle with those of the groups around it
 * @property {'passed' | 'failed' | 'skipped'} outcome
 * @property {number} ms
 * @property {readonly string[]} failures what went wrong
 *
 * @typedef {object} Results
 * @property {readonly TestResult[]} tests
 * @property {readonly string[]} brokenFiles failed although none of their tests did: they could not be loaded
 * @property {readonly string[]} unheard errors that nobody caught, and that belong to no test
 *
 * @typedef {object} Assertion
 * @property {string} title
 * @property {string[]} ancestorTitles
 * @property {string} status
 * @property {{ line: number } | null} [location]
 * @property {number | null} [duration]
 * @property {string[] | null} [failureMessages]
 *
 * @typedef {{ testResults: { name: string, status: string, assertionResults: Assertion[] }[] }} Report
 */

/**
 * @param {string} filter the part of `test` to run
 * @param {{ postgres: import('./postgres.mjs').Postgres, pgbouncer: import('./postgres.mjs').Postgres }} servers
 * @returns {Promise<Results & { passed: boolean }>}
 */
export async function runVitest(filter, { postgres, pgbouncer }) {
  const env = { ...told('POSTGRES', postgres), ...told('PGBOUNCER', pgbouncer) }
  return reported('vitest', `--reporter=default ${filter}`, { env })
}

/**
 * Only those integration tests of a file whose titles end in one of these, and nothing is said of them but what is returned. The
 * report of a run that this may be part of is left alone.
 *
 * @param {string} file
 * @param {readonly string[]} titles
 * @param {{ postgres: import('./postgres.mjs').Postgres, withinMs: number }} options
 * @returns {Promise<Results & { passed: boolean }>}
 */
export async function runTitled(file, titles, { postgres, withinMs }) {
  const pattern = `(${titles.map((title) => title.replace(/[^\w\s]/g, '\\$&')).join('|')})$`
  const env = { ...told('POSTGRES', postgres), HAPAX_TEST_TITLES: pattern }
  return reported('vitest-titled', `--project integration -t "$HAPAX_TEST_TITLES" ${file}`, {
    env,
    stdout: 'ignore',
    withinMs,
  })
}

/**
 * @param {string} name of its report
 * @param {string} words that vitest is given
 * @param {{ env: Record<string, string>, stdout?: 'ignore', withinMs?: number }} options
 */
async function reported(name, words, { env, ...options }) {
  const report = join(root, '.cache', `${name}.json`)
  const unheard = join(root, '.cache', `${name}-unheard.json`)
  // A report of the last run must not speak for one that crashed.
  for (const file of [report, unheard]) rmSync(file, { force: true })
  mkdirSync(dirname(report), { recursive: true })
  const passed = await run(
    `vitest run --reporter=json --reporter=./scripts/unheard-errors.mjs --outputFile.json=${relative(root, report)} ${words}`,
    { ...options, env: { ...env, HAPAX_TEST_UNHEARD: unheard } },
  )
  return { passed, ...resultsOf(read(report), read(unheard)) }
}

/** @param {string} file */
function read(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/**
 * Where the tests find a server, or why there is none.
 *
 * @param {'POSTGRES' | 'PGBOUNCER'} name
 * @param {import('./postgres.mjs').Postgres} server
 * @returns {Record<string, string>}
 */
function told(name, server) {
  if (server.kind === 'running') return { [`HAPAX_TEST_${name}_URL`]: server.url }
  return { [`HAPAX_TEST_${name}_MISSING`]: server.reason }
}

/**
 * @param {Report} report
 * @param {readonly string[]} [unheard]
 * @returns {Results}
 */
export function resultsOf({ testResults }, unheard = []) {
  const files = testResults.map(({ name, status, assertionResults }) => {
    const file = relative(root, name)
    return { file, status, tests: assertionResults.map((assertion) => resultOf(file, assertion)) }
  })
  return {
    tests: files.flatMap(({ tests }) => tests),
    brokenFiles: files
      .filter(({ status, tests }) => status === 'failed' && tests.every(({ outcome }) => outcome !== 'failed'))
      .map(({ file }) => file),
    unheard,
  }
}

/**
 * @param {string} file
 * @param {Assertion} assertion
 * @returns {TestResult}
 */
function resultOf(file, { title, ancestorTitles, status, location, duration, failureMessages }) {
  const outcome = status === 'passed' || status === 'failed' ? status : 'skipped'
  const fullTitle = [...ancestorTitles, title].join(' › ')
  return {
    file,
    line: location?.line ?? 1,
    title,
    groups: ancestorTitles,
    fullTitle,
    outcome,
    ms: duration ?? 0,
    failures: failureMessages ?? [],
  }
}

/**
 * Says once more what failed. Vitest said it thousands of lines ago, and a log is often cut to its end.
 *
 * @param {Results} results
 */
export function reportFailures({ tests, brokenFiles, unheard }) {
  for (const { file, line, fullTitle, outcome, failures } of tests) {
    if (outcome !== 'failed') continue
    console.error(`\n✗ ${file}:${line} ${fullTitle}`)
    for (const failure of failures) console.error(failure.split('\n').slice(0, 12).join('\n'))
  }
  for (const file of brokenFiles) console.error(`\n✗ ${file} could not be run`)
  for (const error of unheard) console.error(`\n✗ nobody caught ${error}`)
}

/**
 * Lists what was skipped. Each says why: its title, or that of a group around it, holds `(skipped: reason)`.
 *
 * @param {Results} results
 * @returns {boolean} whether all of them do
 */
export function reportSkips({ tests }) {
  const skipped = tests.filter(({ outcome }) => outcome === 'skipped')
  const silent = skipped.filter(({ fullTitle }) => !/\(skipped: [^)]+\)/.test(fullTitle))
  for (const { file, line, fullTitle } of skipped) console.log(`${file}:${line} ${fullTitle}`)
  for (const { file, line } of silent) console.error(`✗ ${file}:${line} is skipped and its title does not say why`)
  return silent.length === 0
}
