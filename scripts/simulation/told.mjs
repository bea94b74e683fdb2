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

/**
 * @typedef {Extract<import('./child.mjs').Line, { kind: 'failed' }>} Failed
 *
 * @param {Failed} failed
 * @param {string} [again] what runs it again
 */
export function tell(failed, again = againOf(failed)) {
  const { error, setting, trace, seed, name } = failed
  console.error(`\n✗ ${name ?? `seed ${seed}`}: ${error}\n`)
  for (const line of inWords(setting, trace)) console.error(line)
  console.error(`\nAgain: npm run simulate -- ${again}`)
}

/** @param {Failed} failed */
function againOf({ seed, from, name }) {
  if (seed === undefined) return `--case "${name}"`
  return from === undefined ? `--seed ${seed}` : `--random --from ${from} --schedules ${seed - from + 1} --processes 1`
}

/**
 * What there was, and all that happened: a number for each step, and below it what it led to.
 *
 * @param {readonly string[]} setting
 * @param {readonly string[]} trace
 */
export function inWords(setting, trace) {
  let steps = 0
  const lines = trace.map((words) =>
    words.startsWith('→') ? `         ${words}` : `  ${String(++steps).padStart(3)}. ${words}`,
  )
  return [...setting.map((words) => `  ${words}`), '', ...lines]
}
