/** What was found, for people. */

/**
 * Those names that have the words in them. Where there is none, all that there are to choose from are told.
 *
 * @param {string} words
 * @param {readonly string[]} known
 * @param {string} what they are names of
 */
export function namesWith(words, known, what) {
  const found = known.filter((name) => name.includes(words))
  if (found.length > 0) return found
  console.error(`No ${what} has “${words}” in its name. There are:`)
  for (const name of known) console.error(`  ${name}`)
  return []
}

/** @param {Extract<import('./child.mjs').Line, { kind: 'failed' }>} failed */
export function tell({ error, trace, seed, name }) {
  console.error(`\n✗ ${name ?? `seed ${seed}`}: ${error}\n`)
  for (const line of numbered(trace)) console.error(line)
  const again = seed === undefined ? `--case "${name}"` : `--seed ${seed}`
  console.error(`\nAgain: npm run simulate -- ${again}`)
}

/**
 * All that happened, a line each.
 *
 * @param {readonly string[]} trace
 */
export function numbered(trace) {
  const lines = trace.map((words, index) => `  ${String(index + 1).padStart(3)}. ${words}`)
  return lines.length > mostLines
    ? [...lines.slice(0, mostLines - endLines), '       …', ...lines.slice(-endLines)]
    : lines
}

/** A day on which something stays stuck is hundreds of lines, of which the first and the last tell enough. */
const mostLines = 50
const endLines = 10
