/** `npm run acceptance`, and the part of that name in `npm test`: judges what the tests show, and prints it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../root.mjs'
import { judge } from './judge.mjs'

const folder = join(root, 'test', 'acceptance')

/**
 * @param {import('../vitest.mjs').Results} results
 * @returns {boolean} whether every claim is shown
 */
export function reportAcceptance({ tests }) {
  const { citations, problems, totals } = judge({
    ids: parseRows(readFileSync(join(folder, 'rows.csv'), 'utf8')),
    claimed: parseClaims(readFileSync(join(folder, 'claimed.txt'), 'utf8')),
    tests: tests.filter(({ file }) => file.startsWith('test/acceptance/')),
  })
  for (const [id, places] of [...citations].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))) {
    // One test stands for many adapters and stores; its place is told once.
    const told = new Set(places.map(({ file, line }) => `${file}:${line}`))
    console.log(`${id} → ${[...told].join(', ')}`)
  }
  console.log(totals.map(({ source, cited, all }) => `${source} ${cited}/${all}`).join(' · '))
  for (const problem of problems) console.error(`✗ ${problem}`)
  return problems.length === 0
}

/**
 * The ids: what stands before the first comma of each line, below the heading.
 *
 * @param {string} csv
 */
export function parseRows(csv) {
  const [, ...rows] = csv.trimEnd().split(/\r?\n/)
  return rows.map((row) => row.slice(0, row.indexOf(',')))
}

/**
 * One id per line; `#` begins a comment.
 *
 * @param {string} text
 */
export function parseClaims(text) {
  return text
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
}
