/** Random schedules of a range of seeds, on as many processes as there are. */
import { EndedEarly, simulator } from './child.mjs'
import { newRange } from './range.mjs'
import { tell } from './told.mjs'

/** Seeds are numbers of 32 bits: one beyond them would be one of these again, under another name. */
export const lastSeed = 2 ** 32 - 1

/**
 * @typedef {object} Ran
 * @property {number} from the first seed
 * @property {number} to the last one
 * @property {number} schedules
 * @property {number} perSecond of one core
 * @property {Readonly<Record<string, number>>} reached how many of them came by what, while something could still go wrong
 *
 * @typedef {Extract<import('./child.mjs').Line, { kind: 'failed' }>} Failed
 *
 * @typedef {object} Asked
 * @property {string} bundle
 * @property {number} processes
 * @property {number} from
 * @property {number} schedules
 * @property {number} minutes
 * @property {(ran: Ran) => void} [keep] is given what has run, as it grows: the seeds up to here without a gap, each once
 * @property {(failed: Failed) => void} [broke] is given the schedule that broke a promise
 *
 * @param {Asked} asked
 * @returns {Promise<boolean>} whether every schedule that was begun kept every promise
 */
export async function campaign({ bundle, processes, from, schedules, minutes, keep = nobody, broke = nobody }) {
  const startedAt = performance.now()
  const until = startedAt + minutes * 60_000
  const end = Math.min(from + schedules, lastSeed + 1)
  const block = Math.min(mostAtOnce, Math.ceil(schedules / processes))
  const range = newRange(from)
  let next = from
  let isOver = false
  let toldAt = startedAt

  async function lane() {
    const child = simulator(bundle)
    // All that is handed out is run, so that what has run is one range of seeds.
    while (!isOver && next < end && performance.now() < until) {
      const first = next
      const count = Math.min(block, end - first)
      next += count
      const line = await child.does({ kind: 'random', from: first, count, ms: 3_600_000 }).catch(ended)
      if (!(line instanceof EndedEarly) && line.kind === 'random' && line.schedules === count) add(line)
      else {
        isOver = true
        await told(line, first, count)
      }
    }
    child.end()
  }

  /** @param {import('./range.mjs').Block} line */
  function add(line) {
    range.add(line)
    if (performance.now() - toldAt < toldEveryMs) return
    toldAt = performance.now()
    save()
    console.log(`  ${range.schedules()} schedules, ${range.perSecond()} per second of a core`)
  }

  function save() {
    const grown = range.taken()
    if (grown !== undefined) keep(grown)
  }

  /**
   * Whatever is not a block that has run ends the campaign.
   *
   * @param {import('./child.mjs').Line | EndedEarly} line
   * @param {number} first
   * @param {number} count
   */
  async function told(line, first, count) {
    if (line instanceof EndedEarly) await tellWho(bundle, line, first, count, fails)
    else if (line.kind === 'failed') fails(line)
    else
      console.error(`✗ seeds ${first} to ${first + count - 1}: not all of them were run, but ${JSON.stringify(line)}`)
  }

  /** @param {Failed} failed */
  function fails(failed) {
    tell(failed)
    broke(failed)
  }

  // Also where somebody ends it, and before the record is given back: what has run has run.
  process.prependOnceListener('exit', save)
  await Promise.all(Array.from({ length: Math.min(processes, Math.ceil(schedules / block)) }, lane))
  save()
  process.off('exit', save)
  return !isOver && summedUp(range, { from, schedules, minutes, seconds: (performance.now() - startedAt) / 1_000 })
}

/**
 * Tells what all of it was. Whether it was something, and came by everything.
 *
 * @param {ReturnType<typeof newRange>} range
 * @param {{ from: number, schedules: number, minutes: number, seconds: number }} asked
 */
function summedUp(range, { from, schedules, minutes, seconds }) {
  const ran = range.schedules()
  if (ran === 0) {
    console.error(`✗ in ${minutes} min there was no time for a single schedule`)
    return false
  }
  console.log(`✓ ${ran} random schedules, seeds ${from} to ${from + ran - 1}, 0 violations (${seconds.toFixed(0)} s)`)
  console.log(`  ${range.perSecond()} per second of a core`)
  const reached = Object.entries(range.reached())
  for (const [feature, count] of reached) console.log(`  ${String(count).padStart(9)} came by ${feature}`)
  if (ran < schedules && Number.isFinite(schedules))
    console.log(`  ${schedules} were asked for; there was no more time than ${minutes} min`)
  const missed = reached.filter(([, count]) => count === 0).map(([feature]) => feature)
  if (ran < manySchedules || missed.length === 0) return true
  console.error(`✗ so many schedules, and none of them came by ${missed.join(', ')}`)
  return false
}

/** Among so many each thing that there is to come by has happened, or the scenarios are not what they should be. */
const manySchedules = 100_000

/** Seeds that a process is given at once: some seconds of work, so that all of them end at about the same time. */
const mostAtOnce = 2_500

const toldEveryMs = 10_000

function nobody() {}

/**
 * A process that ended is told with what it was doing; anything else is ours.
 *
 * @param {unknown} error
 */
function ended(error) {
  if (error instanceof EndedEarly) return error
  throw error
}

/**
 * Which seed it was in which a process ended, or from which it did not come back: each is tried by itself.
 *
 * @param {string} bundle
 * @param {EndedEarly} error
 * @param {number} first
 * @param {number} count
 * @param {(failed: Failed) => void} fails is given the one that breaks a promise instead
 */
async function tellWho(bundle, { message }, first, count, fails) {
  console.error(`✗ seeds ${first} to ${first + count - 1}: ${message}`)
  const child = simulator(bundle, { seconds: oneSeedSeconds })
  for (let seed = first; seed < first + count; seed++) {
    const line = await child.does({ kind: 'random', from: seed, count: 1, ms: 60_000 }).catch(ended)
    if (line instanceof EndedEarly) return tellAlone(seed, line)
    if (line.kind === 'failed') {
      child.end()
      return fails(line)
    }
  }
  child.end()
  const again = `npm run simulate -- --random --from ${first} --schedules ${count} --processes 1`
  console.error(`Alone each of them comes to its end. Again: ${again}`)
}

/** No schedule takes a thousandth of it. */
const oneSeedSeconds = 10

/**
 * @param {number} seed
 * @param {EndedEarly} error
 */
function tellAlone(seed, { message }) {
  console.error(`✗ seed ${seed}: ${message}\nAgain: npm run simulate -- --seed ${seed}`)
}
