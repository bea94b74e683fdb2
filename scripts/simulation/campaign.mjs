/** Random schedules of a range of seeds, on as many processes as there are. */
import { simulated } from './child.mjs'
import { tell } from './told.mjs'

/**
 * @typedef {object} Ran
 * @property {number} from the first seed
 * @property {number} to the last one
 * @property {number} schedules
 * @property {number} perSecond of one core
 * @property {number} seconds
 * @property {Readonly<Record<string, number>>} [reached] how many of them came by what, while something could still go wrong
 *
 * @param {{ bundle: string, processes: number, from: number, schedules: number, minutes: number }} asked
 * @returns {Promise<[Ran] | undefined>} `undefined` when a promise was broken
 */
export async function campaign({ bundle, processes, from, schedules, minutes }) {
  const startedAt = performance.now()
  // In rounds: each process gets seeds of its own, and all of a round have run before the next begins.
  let next = from
  let busyMs = 0
  let tookMs = 0
  /** @type {Record<string, number>} */
  const reached = {}
  const until = startedAt + minutes * 60_000
  while (next < from + schedules) {
    const perMs = tookMs === 0 ? undefined : (next - from) / processes / tookMs
    const share = Math.min(roundOf(until - performance.now(), perMs), Math.ceil((from + schedules - next) / processes))
    if (share <= 0) break
    const starts = Array.from({ length: processes }, (_, index) => next + index * share)
    const lines = await Promise.all(
      starts.map((start) => simulated(bundle, { kind: 'random', from: start, step: 1, count: share, ms: 3_600_000 })),
    )
    for (const line of lines) {
      if (line.kind === 'failed') {
        tell(line)
        return undefined
      }
      if (line.kind !== 'random') continue
      busyMs += line.busyMs
      for (const [feature, count] of Object.entries(line.reached)) reached[feature] = (reached[feature] ?? 0) + count
    }
    next += processes * share
    tookMs = performance.now() - startedAt
    const ran = next - from
    console.log(`  ${ran} schedules, ${Math.round((ran / busyMs) * 1_000)} per second of a core`)
  }
  const ran = next - from
  const seconds = (performance.now() - startedAt) / 1_000
  const perSecond = Math.round((ran / busyMs) * 1_000)
  console.log(`✓ ${ran} random schedules, seeds ${from} to ${next - 1}, 0 violations (${seconds.toFixed(0)} s)`)
  for (const [feature, count] of Object.entries(reached))
    console.log(`  ${String(count).padStart(9)} came by ${feature}`)
  const missed = Object.keys(reached).filter((feature) => reached[feature] === 0)
  if (ran >= manySchedules && missed.length > 0) {
    console.error(`✗ so many schedules, and none of them came by ${missed.join(', ')}`)
    return undefined
  }
  if (ran < schedules) console.log(`  ${schedules} were asked for; there was no more time than ${minutes} min`)
  return [{ from, to: next - 1, schedules: ran, perSecond, seconds: Math.round(seconds), reached }]
}

/** Among so many each thing that there is to come by has happened, or the scenarios are not what they should be. */
const manySchedules = 100_000

/**
 * Seeds of one process in one round: the first is short, and tells how many fit in what is left of the time. A process takes
 * seconds until it is as quick as it can be, so none is started for less than that is worth.
 *
 * @param {number} leftMs
 * @param {number | undefined} perMs
 */
function roundOf(leftMs, perMs) {
  if (perMs === undefined) return 12_500
  const fit = Math.floor(leftMs * perMs)
  return fit < 2_500 ? 0 : Math.min(fit, 1_000_000)
}
