/**
 * Which rows of the specification the tests show. A test in `test/acceptance` ends its title with the ids of the
 * rows it shows, and every claimed id needs one that passes. A black-box row of the seeds needs one on the sandbox, on
 * each of its databases.
 */

/** A title that names more rows than this shows none of them well. */
const mostIdsPerTitle = 3

/** The groups of tests that meet the sandbox from outside. `onBothDatabases` declares them, and nobody else may. */
export const blackBoxGroups = /** @type {const} */ ({
  embedded: 'the sandbox on the embedded database',
  postgres: 'the sandbox on PostgreSQL, with two nodes',
})

/**
 * @typedef {Pick<import('../vitest.mjs').TestResult, 'file' | 'line' | 'title' | 'groups' | 'outcome'>} TestResult
 *
 * @typedef {object} Row
 * @property {string} id
 * @property {string} kind how it is to be shown, such as `BB/FI`
 *
 * @typedef {object} Verdict
 * @property {ReadonlyMap<string, readonly TestResult[]>} citations the tests that show each cited id
 * @property {readonly string[]} problems why the run fails, one sentence each
 * @property {readonly { source: string, cited: number, all: number }[]} totals
 */

/**
 * @param {object} input
 * @param {readonly Row[]} input.rows
 * @param {readonly string[]} input.claimed
 * @param {readonly TestResult[]} input.tests
 * @returns {Verdict}
 */
export function judge({ rows, claimed, tests }) {
  const ids = rows.map(({ id }) => id)
  const known = new Set(ids)
  /** @type {Map<string, TestResult[]>} */
  const citations = new Map()
  for (const test of tests) {
    for (const id of idsIn(test.title)) citations.set(id, [...(citations.get(id) ?? []), test])
  }
  const problems = [
    ...tests.flatMap((test) => problemsOf(test, known)),
    ...claimed.flatMap((id) => problemsOfClaim(id, known, citations)),
    ...problemsOfBlackBox(rows.filter(isBlackBox), tests),
  ]
  return { citations, problems, totals: totalsOf(ids, citations) }
}

/**
 * The ids at the end of a title, before the reason of a skip.
 *
 * @param {string} title
 */
export function idsIn(title) {
  const [, ids] = /\[([^[\]]*)\](?: \(skipped: .*\))?$/.exec(title) ?? []
  return ids?.split(/\s+/).filter((id) => id !== '') ?? []
}

/**
 * @param {TestResult} test
 * @param {ReadonlySet<string>} known
 */
function problemsOf({ file, line, title, outcome }, known) {
  const ids = idsIn(title)
  const at = `${file}:${line}`
  const problems = ids.filter((id) => !known.has(id)).map((id) => `${at} cites ${id}, which is not in rows.csv`)
  if (ids.length > mostIdsPerTitle) problems.push(`${at} cites ${ids.length} rows; ${mostIdsPerTitle} are the most`)
  if (ids.length > 0 && outcome === 'skipped') problems.push(`${at} cites ${ids.join(' ')} and is skipped`)
  return problems
}

/**
 * @param {string} id
 * @param {ReadonlySet<string>} known
 * @param {ReadonlyMap<string, readonly TestResult[]>} citations
 */
function problemsOfClaim(id, known, citations) {
  if (!known.has(id)) return [`claimed.txt claims ${id}, which is not in rows.csv`]
  const isShown = citations.get(id)?.some(({ outcome }) => outcome === 'passed') ?? false
  return isShown ? [] : [`${id} is claimed and no passing test shows it`]
}

/**
 * Whether a row of the seeds is to be shown from outside.
 *
 * @param {Row} row
 */
function isBlackBox({ id, kind }) {
  return /^S[0-4]-/.test(id) && kind.split('/').includes('BB')
}

/**
 * @param {readonly Row[]} rows
 * @param {readonly TestResult[]} tests
 */
function problemsOfBlackBox(rows, tests) {
  return Object.values(blackBoxGroups).flatMap((group) => {
    const own = tests.filter((test) => test.groups.includes(group) && test.outcome === 'passed')
    const shown = new Set(own.flatMap(({ title }) => idsIn(title)))
    const missing = rows.filter(({ id }) => !shown.has(id))
    // Without a server nothing of a group runs. That is one thing to mend, and not one for each row.
    if (shown.size === 0 && missing.length > 0)
      return [`no test of "${group}" passed, which ${missing.length} rows need`]
    return missing.map(({ id }) => `${id} is a black-box row and no passing test of "${group}" shows it`)
  })
}

/**
 * @param {readonly string[]} ids
 * @param {ReadonlyMap<string, readonly TestResult[]>} citations
 */
function totalsOf(ids, citations) {
  const sources = [...new Set(ids.map(sourceOf))]
  return sources.map((source) => {
    const own = ids.filter((id) => sourceOf(id) === source)
    return {
      source,
      cited: own.filter((id) => citations.get(id)?.some(({ outcome }) => outcome === 'passed')).length,
      all: own.length,
    }
  })
}

/** @param {string} id */
function sourceOf(id) {
  return id.slice(0, id.indexOf('-'))
}
