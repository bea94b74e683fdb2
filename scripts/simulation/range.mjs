/** What a campaign has run, as one range of seeds: a block that ends before an earlier one waits for that. */

/**
 * @typedef {Extract<import('./child.mjs').Line, { kind: 'random' }>} Block
 * @typedef {import('./campaign.mjs').Ran} Ran
 */

/** @param {number} from the first seed */
export function newRange(from) {
  /** @type {Map<number, Block>} those behind a gap, by their first seed */
  const waiting = new Map()
  /** @type {Block[]} those before it */
  const whole = []
  /** @type {Block[]} of all */
  const all = []
  let [next, takenTo] = [from, 0]
  return {
    /** @param {Block} block */
    add(block) {
      all.push(block)
      waiting.set(block.from, block)
      for (let found = waiting.get(next); found !== undefined; found = waiting.get(next)) {
        waiting.delete(next)
        whole.push(found)
        next += found.schedules
      }
    },
    schedules: () => schedulesOf(all),
    perSecond: () => perSecondOf(all),
    reached: () => reachedBy(all),
    /**
     * What it has grown by since it was last asked.
     *
     * @returns {Ran | undefined}
     */
    taken() {
      const grown = whole.slice(takenTo)
      const [first] = grown
      if (first === undefined) return undefined
      takenTo = whole.length
      const schedules = schedulesOf(grown)
      const to = first.from + schedules - 1
      return { from: first.from, to, schedules, perSecond: perSecondOf(grown), reached: reachedBy(grown) }
    },
  }
}

/** @param {readonly Block[]} blocks */
function schedulesOf(blocks) {
  return blocks.reduce((sum, { schedules }) => sum + schedules, 0)
}

/** @param {readonly Block[]} blocks */
function perSecondOf(blocks) {
  const busyMs = blocks.reduce((sum, block) => sum + block.busyMs, 0)
  return Math.round((schedulesOf(blocks) / busyMs) * 1_000)
}

/**
 * How many of them came by what, added up. Later ones may count more than those before them.
 *
 * @param {readonly { readonly reached: Readonly<Record<string, number>> }[]} counted
 * @returns {Readonly<Record<string, number>>}
 */
export function reachedBy(counted) {
  const names = [...new Set(counted.flatMap(({ reached }) => Object.keys(reached)))]
  return Object.fromEntries(
    names.map((name) => [name, counted.reduce((sum, { reached }) => sum + (reached[name] ?? 0), 0)]),
  )
}
