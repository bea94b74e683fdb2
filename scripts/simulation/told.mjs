/** How a promise was broken, for people. */

/** @param {Extract<import('./child.mjs').Line, { kind: 'failed' }>} failed */
export function tell({ error, trace, seed, name }) {
  console.error(`\n✗ ${name ?? `seed ${seed}`}: ${error}\n`)
  const lines = trace.map((words, index) => `  ${String(index + 1).padStart(3)}. ${words}`)
  const isLong = lines.length > mostLines
  for (const line of isLong ? lines.slice(0, mostLines - endLines) : lines) console.error(line)
  if (isLong) for (const line of ['       …', ...lines.slice(-endLines)]) console.error(line)
  const again = seed === undefined ? `--case "${name}"` : `--seed ${seed}`
  console.error(`\nAgain: npm run simulate -- ${again}`)
}

/** A day on which something stays stuck is hundreds of lines, of which the first and the last tell enough. */
const mostLines = 50
const endLines = 10
