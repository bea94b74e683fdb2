/** Plants every known bug into the real source and into real SQL, and sees that each is caught by what it names. */
import { bugs } from '../../test/simulation/planted-bugs.mjs'
import { bundled, patched } from './bundle.mjs'
import { simulated, simulator } from './child.mjs'
import { bugsInSql, sabotageInSql } from './sabotage-in-sql.mjs'
import { namesWith, tell } from './told.mjs'

/**
 * @typedef {import('./bundle.mjs').Edit} Edit
 * @typedef {import('./child.mjs').Line} Line
 *
 * What catches it: schedules of this many seeds, one of the small cases, or a case of the store conformance suite.
 * @typedef {{ readonly seeds: number } | { readonly case: string } | { readonly suite: string }} Catcher
 *
 * `says` is of the promise that it breaks. A case of the suite is about one promise, and says it by its name.
 * @typedef {{ readonly bug: string, readonly patch: Edit | readonly Edit[], readonly caughtBy: Catcher, readonly says?: RegExp }} PlantedBug
 */

/** So many schedules of a case are tried with a bug in it, and more if it was not caught by then: no case needs more than the last. */
const triedSchedules = [1_000, 3_000, 10_000, 30_000, 80_000, 200_000]

/** For so long random schedules are run with a bug in the source, and without one, which all of these bugs wait for. */
const [plantedMs, controlMs] = [120_000, 600_000]

/**
 * What a bug was caught by: of a case no more schedules than it took, of seeds all that may be tried.
 *
 * @typedef {{ readonly caughtBy: Catcher, readonly most: number }} Shown
 *
 * Why what catches a bug shows nothing; `undefined` where it catches nothing while none is planted.
 * @typedef {(shown: Shown) => Promise<string | undefined>} Control
 */

/**
 * @param {number} processes
 * @param {string} words that are in the name of each that is planted
 * @returns {Promise<readonly { bug: string, caughtBy: string }[] | undefined>} `undefined` when one was not caught
 */
export async function sabotage(processes, words) {
  const inSql = await bugsInSql()
  const known = [...bugs, ...inSql].map(({ bug }) => bug)
  const named = new Set(namesWith(words, known, 'planted bug'))
  if (named.size === 0) return undefined
  const wantedInSource = bugs.filter(({ bug }) => named.has(bug))
  const wantedInSql = inSql.filter(({ bug }) => named.has(bug))
  // These first: nobody should wait for all others to hear that there is no server for them.
  const { caught: caughtInSql, missing } = await sabotageInSql(wantedInSql, words)
  const caught = caughtInSql + (await sabotageInSource(wantedInSource, processes, words))
  const planted = wantedInSource.length + wantedInSql.length
  console.log(`${caught} of ${planted} planted bugs are caught`)
  if (missing !== undefined) console.error(missing)
  if (caught < planted) return undefined
  return [
    ...wantedInSource.map(({ bug, caughtBy }) => ({ bug, caughtBy: wordsOf(caughtBy) })),
    ...wantedInSql.map(({ bug, caughtBy }) => ({ bug, caughtBy: `the suite, on PostgreSQL: ${caughtBy}` })),
  ]
}

/**
 * @param {readonly PlantedBug[]} wanted
 * @param {number} processes
 * @param {string} words
 * @returns {Promise<number>} how many are caught
 */
async function sabotageInSource(wanted, processes, words) {
  const waiting = wanted.entries()
  const control = controls(wanted)
  let caught = 0
  const lane = async () => {
    for (const [index, planted] of waiting) {
      const startedAt = performance.now()
      const { missed, line } = await planting(planted, `sabotage-${index}`, control).catch(thrown)
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
      // Whoever asks for some by name may want to see how each shows.
      if (words !== '' && line?.kind === 'failed') tell(line, `--bug "${planted.bug}"`)
      if (missed === undefined) caught++
      if (missed === undefined) console.log(`✓ ${planted.bug}: caught (${seconds} s)`)
      else console.error(`✗ ${planted.bug}: ${missed}`)
    }
  }
  await Promise.all(Array.from({ length: processes }, lane))
  return caught
}

/**
 * What was found with a bug in the source, and why that is not what it should have been; `undefined` when it is.
 *
 * @param {PlantedBug} planted
 * @param {string} name
 * @param {Control} control
 * @returns {Promise<{ missed: string | undefined, line?: Line }>}
 */
async function planting(planted, name, control) {
  const { caughtBy } = planted
  const edits = [planted.patch].flat()
  // Said before anything is built: a patch that no longer applies is a bug that nobody looks for.
  for (const { file } of edits) patched(file, edits)
  const bundle = await bundled(name, { edits, ...entryOf(caughtBy) })
  const { line, most } = await tried(bundle, caughtBy)
  return { missed: whyMissed(line, planted) ?? (await control({ caughtBy, most })), line }
}

/**
 * Of a case first a few schedules, and more only while nobody notices: as many of them are run without the bug.
 *
 * @param {string} bundle
 * @param {Catcher} caughtBy
 * @returns {Promise<{ line: Line, most: number }>}
 */
async function tried(bundle, caughtBy) {
  const child = simulator(bundle)
  try {
    for (const most of triedSchedules) {
      const line = await child.does(taskOf(caughtBy, most))
      if (line.kind !== 'case' || line.isExhausted || most === triedSchedules.at(-1)) return { line, most }
    }
    throw new Error('unreachable: the last of them is the end')
  } finally {
    child.end()
  }
}

/**
 * What fails where nothing is planted catches nothing: each case is run once so, and of all seeds the longest range.
 *
 * @param {readonly PlantedBug[]} wanted
 * @returns {Control}
 */
function controls(wanted) {
  const seeds = Math.max(0, ...wanted.map(({ caughtBy }) => ('seeds' in caughtBy ? caughtBy.seeds : 0)))
  /** @type {Map<string, Promise<string | undefined>>} */
  const known = new Map()
  return (shown) => {
    const caughtBy = 'seeds' in shown.caughtBy ? { seeds } : shown.caughtBy
    const name = JSON.stringify(taskOf(caughtBy, shown.most))
    const found = known.get(name) ?? unharmed({ ...shown, caughtBy }, `control-${known.size}`)
    known.set(name, found)
    return found
  }
}

/**
 * @param {Shown} shown
 * @param {string} name
 */
async function unharmed({ caughtBy, most }, name) {
  const bundle = await bundled(name, entryOf(caughtBy))
  const line = await simulated(bundle, { ...taskOf(caughtBy, most), ms: controlMs })
  if (line.kind === 'failed') return `${wordsOf(caughtBy)}, fails where nothing is planted, too: ${firstOf(line.error)}`
  return 'seeds' in caughtBy ? whyTooFew(line, caughtBy.seeds) : undefined
}

/**
 * @param {unknown} error
 * @returns {{ missed: string, line?: Line }}
 */
function thrown(error) {
  return { missed: String(error) }
}

/**
 * @param {Line} line
 * @param {PlantedBug} planted
 */
function whyMissed(line, { caughtBy, says }) {
  if (line.kind === 'case' && !line.isExhausted)
    return `nobody noticed in ${triedSchedules.at(-1)} schedules of the case`
  const tooFew = 'seeds' in caughtBy ? whyTooFew(line, caughtBy.seeds) : undefined
  if (tooFew !== undefined) return `nobody noticed, and ${tooFew}`
  if (line.kind !== 'failed') return 'nobody noticed'
  if (line.how === 'thrown') return `nobody judged it, something was thrown: ${firstOf(line.error)}`
  return says === undefined || says.test(line.error)
    ? undefined
    : `caught, but for another reason: ${firstOf(line.error)}`
}

/**
 * @param {Line} line
 * @param {number} seeds
 */
function whyTooFew(line, seeds) {
  if (line.kind !== 'random' || line.schedules === seeds) return undefined
  return `only ${line.schedules} of ${seeds} schedules were run in time`
}

/** @param {string} error */
function firstOf(error) {
  return error.split('\n')[0]
}

/** @param {Catcher} caughtBy */
function wordsOf(caughtBy) {
  if ('suite' in caughtBy) return `the suite: ${caughtBy.suite}`
  return 'case' in caughtBy ? `the case: ${caughtBy.case}` : `random schedules, of the first ${caughtBy.seeds} seeds`
}

/** @param {Catcher} caughtBy */
function entryOf(caughtBy) {
  return 'suite' in caughtBy ? { entry: 'test/simulation/suite.ts' } : {}
}

/**
 * @param {Catcher} caughtBy
 * @param {number} most
 */
function taskOf(caughtBy, most) {
  if ('suite' in caughtBy) return { name: caughtBy.suite }
  if ('case' in caughtBy) return { kind: 'case', name: caughtBy.case, most }
  return { kind: 'random', from: 1, count: caughtBy.seeds, ms: plantedMs }
}
