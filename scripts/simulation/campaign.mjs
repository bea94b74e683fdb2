/** Random schedules of a range of seeds, on as many processes as there are. */
import { simulator } from './child.mjs'
import { tell } from './told.mjs'

/** Seeds are numbers of 32 bits: one beyond them would be one of these again, under another name. */
export const lastSeed = 2 ** 32 - 1

/**
 * @typedef {object} Ran
 * @property {number} from the first seed
 * @property {number} to the last one
 * @property {number} schedules
 * @property {number} perSecond of one core
 * @property {number} seconds
 * @property {Readonly<Record<string, number>>} reached how many of them came by what, while something could still go wrong
 *
 * @param {{ bundle: string, processes: number, from: number, schedules: number, minutes: number }} asked
 * @returns {Promise<[Ran] | undefined>} `undefined` when a promise was broken
 */
export async function campaign({ bundle, processes, from, schedules, minutes }) {
  const startedAt = performance.now()
  const until = startedAt + minutes * 60_000
  const end = Math.min(from + schedules, lastSeed + 1)
  const block = Math.min(mostAtOnce, Math.ceil(schedules / processes))
  // All that is handed out is run, so that what has run is one range of seeds.
  let next = from
  let finished = 0
  let busyMs = 0
  let isBroken = false
  let toldAt = startedAt
  /** @type {Record<string, number>} */
  const reached = {}

  async function lane() {
    const child = simulator(bundle)
    while (!isBroken && next < end && performance.now() < until) {
      const count = Math.min(block, end - next)
      next += count
      const line = await child.does({ kind: 'random', from: next - count, count, ms: 3_600_000 })
      if (line.kind === 'failed') {
        isBroken = true
        tell(line)
      }
      if (line.kind === 'random') add(line)
    }
    child.end()
  }

  /** @param {Extract<import('./child.mjs').Line, { kind: 'random' }>} line */
  function add(line) {
    finished += line.schedules
    busyMs += line.busyMs
    for (const [feature, count] of Object.entries(line.reached)) reached[feature] = (reached[feature] ?? 0) + count
    if (performance.now() - toldAt < toldEveryMs) return
    toldAt = performance.now()
    console.log(`  ${finished} schedules, ${Math.round((finished / busyMs) * 1_000)} per second of a core`)
  }

  await Promise.all(Array.from({ length: processes }, lane))
  if (isBroken) return undefined
  const ran = next - from
  const seconds = (performance.now() - startedAt) / 1_000
  const perSecond = Math.round((ran / busyMs) * 1_000)
  console.log(`✓ ${ran} random schedules, seeds ${from} to ${next - 1}, 0 violations (${seconds.toFixed(0)} s)`)
  console.log(`  ${perSecond} per second of a core`)
  for (const [feature, count] of Object.entries(reached))
    console.log(`  ${String(count).padStart(9)} came by ${feature}`)
  const missed = Object.keys(reached).filter((feature) => reached[feature] === 0)
  if (ran >= manySchedules && missed.length > 0) {
    console.error(`✗ so many schedules, and none of them came by ${missed.join(', ')}`)
    return undefined
  }
  if (ran < schedules && Number.isFinite(schedules))
    console.log(`  ${schedules} were asked for; there was no more time than ${minutes} min`)
  return [{ from, to: next - 1, schedules: ran, perSecond, seconds: Math.round(seconds), reached }]
}

/** Among so many each thing that there is to come by has happened, or the scenarios are not what they should be. */
const manySchedules = 100_000

/** Seeds that a process is given at once: some seconds of work, so that all of them end at about the same time. */
const mostAtOnce = 2_500

const toldEveryMs = 10_000
