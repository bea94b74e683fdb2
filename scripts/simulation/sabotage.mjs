/** Plants every known bug into the real source and into real SQL, and sees that each is caught by what it names. */
import { bugs } from '../../test/simulation/planted-bugs.mjs'
import { bundled, patched } from './bundle.mjs'
import { simulated } from './child.mjs'
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

/** No case of a planted bug needs more. */
const mostSchedules = 200_000

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
  let caught = 0
  const lane = async () => {
    for (const [index, planted] of waiting) {
      const startedAt = performance.now()
      const { missed, line } = await planting(planted, `sabotage-${index}`).catch(thrown)
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
 * @returns {Promise<{ missed: string | undefined, line?: Line }>}
 */
async function planting(planted, name) {
  const edits = [planted.patch].flat()
  // Said before anything is built: a patch that no longer applies is a bug that nobody looks for.
  for (const { file } of edits) patched(file, edits)
  const bundle = await bundled(name, { edits, ...entryOf(planted.caughtBy) })
  const line = await simulated(bundle, taskOf(planted.caughtBy))
  return { missed: whyMissed(line, planted), line }
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
  if (line.kind === 'random' && 'seeds' in caughtBy && line.schedules < caughtBy.seeds)
    return `nobody noticed, and only ${line.schedules} of ${caughtBy.seeds} schedules were run in time`
  if (line.kind === 'case' && !line.isExhausted) return `nobody noticed in ${mostSchedules} schedules of the case`
  if (line.kind !== 'failed') return 'nobody noticed'
  const [first] = line.error.split('\n')
  if (line.how === 'thrown') return `nobody judged it, something was thrown: ${first}`
  return says === undefined || says.test(line.error) ? undefined : `caught, but for another reason: ${first}`
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

/** @param {Catcher} caughtBy */
function taskOf(caughtBy) {
  if ('suite' in caughtBy) return { name: caughtBy.suite }
  if ('case' in caughtBy) return { kind: 'case', name: caughtBy.case, most: mostSchedules }
  return { kind: 'random', from: 1, count: caughtBy.seeds, ms: 120_000 }
}
