/** How a promise was broken, for people. */

/** @param {Extract<import('./child.mjs').Line, { kind: 'failed' }>} failed */
export function tell({ error, trace, seed, name }) {
  console.error(`\n✗ ${name ?? `seed ${seed}`}: ${error}\n`)
  for (const [index, words] of trace.entries()) console.error(`  ${String(index + 1).padStart(3)}. ${words}`)
  if (seed !== undefined) console.error(`\nAgain: npm run simulate -- --seed ${seed}`)
}
