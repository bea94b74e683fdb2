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
    rows: parseRows(read('rows.csv')),
    claimed: parseClaims(read('claimed.txt')),
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

/** @param {string} name */
function read(name) {
  return readFileSync(join(folder, name), 'utf8')
}

/**
 * The id and the kind of each line, below the heading.
 *
 * @param {string} csv
 */
export function parseRows(csv) {
  const [heading = '', ...lines] = csv.trimEnd().split(/\r?\n/)
  const columns = fieldsOf(heading)
  return lines.map((line) => {
    const fields = fieldsOf(line)
    const field = (/** @type {string} */ name) => fields[columns.indexOf(name)] ?? ''
    return { id: field('id'), kind: field('kind') }
  })
}

/**
 * No field holds a line break. Those with commas stand in quotes.
 *
 * @param {string} line
 */
function fieldsOf(line) {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
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
