/** The campaigns on record: each a range of seeds that was run, so that they add up. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { root } from '../root.mjs'

export const file = join(root, 'docs', 'reliability', 'campaigns.jsonl')

/** @returns {readonly (import('./campaign.mjs').Ran & { date: string, node: string })[]} */
export function campaigns() {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

/** The first seed that no campaign has run. */
export function nextSeed() {
  return Math.max(0, ...campaigns().map(({ to }) => to)) + 1
}

/** @param {import('./campaign.mjs').Ran} ran */
export function record(ran) {
  const date = new Date().toISOString().slice(0, 10)
  appendFileSync(file, `${JSON.stringify({ date, node: process.version, ...ran })}\n`)
}
