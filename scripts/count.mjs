/** @typedef {import('./parts.mjs').Outcome} Outcome */

/**
 * The numbers in the last line of `npm test`: every test counts, and so does every part that is not made of tests.
 *
 * @param {readonly import('./parts.mjs').Part[]} parts
 * @param {import('./vitest.mjs').Results} results
 */
export function count(parts, { tests, brokenFiles, unheard }) {
  /** @type {Outcome[]} */
  const outcomes = [...tests.map(({ outcome }) => outcome), ...[...brokenFiles, ...unheard].map(() => failed)]
  for (const { name, outcome } of parts) {
    const isCounted = name !== 'tests' || (outcome === 'failed' && !outcomes.includes('failed'))
    if (isCounted) outcomes.push(outcome)
  }
  /** @param {Outcome} wanted */
  const number = (wanted) => outcomes.filter((outcome) => outcome === wanted).length
  return { passed: number('passed'), failed: number('failed'), skipped: number('skipped') }
}

const failed = /** @type {const} */ ('failed')
