/**
 * What was run, on record: campaigns as ranges of seeds, so that they add up, and the schedules that broke a promise; of cases and
 * planted bugs the last run.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { root } from '../root.mjs'
import { withFigures } from './figures.mjs'
import { reachedBy } from './range.mjs'

/**
 * @typedef {{ readonly date: string, readonly node: string, readonly code: string }} When of which code: the digest of what ran
 * @typedef {import('./campaign.mjs').Ran & When} Campaign
 * @typedef {{ readonly seed: number, readonly error: string }} Broken a schedule that broke a promise, and which
 * @typedef {import('./cases.mjs').Exhausted} Exhausted
 * @typedef {{ readonly bug: string, readonly caughtBy: string }} Caught
 *
 * @typedef {object} OnRecord
 * @property {readonly Campaign[]} campaigns
 * @property {readonly (Broken & When)[]} violations
 * @property {When & { readonly figures: readonly Exhausted[] }} cases
 * @property {When & { readonly figures: readonly Caught[] }} bugs
 */

const file = join(root, 'docs', 'reliability', 'simulation.json')
const page = join(root, 'docs', 'RELIABILITY.md')
const never = { date: '', node: '', code: '', figures: [] }

/** @type {OnRecord} */
const nothing = { campaigns: [], violations: [], cases: never, bugs: never }

/** @returns {OnRecord} */
export function onRecord() {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : nothing
}

/** The first seed that no campaign has run. */
export function nextSeed() {
  return Math.max(0, ...onRecord().campaigns.map(({ to }) => to)) + 1
}

/** Why nothing can be put on record, for whoever is about to run for hours; `undefined` where it can. */
export function whyNotOnRecord() {
  if (!existsSync(file) && readFileSync(page, 'utf8').includes('| exhausted |'))
    return `${file} is missing, and the page would lose the figures that it has: git restore it.`
  try {
    onRecord()
    return undefined
  } catch (error) {
    return `${file} cannot be read: git restore it. (${error})`
  }
}

/**
 * @param {string} code
 * @param {import('./campaign.mjs').Ran} ran
 */
export function recordCampaign(code, ran) {
  const before = onRecord()
  write({ ...before, campaigns: joined([...before.campaigns, { ...when(code), ...ran }]) })
}

/**
 * @param {string} code
 * @param {import('./told.mjs').Failed} failed
 */
export function recordViolation(code, { seed = 0, error }) {
  const before = onRecord()
  const [first = error] = error.split('\n')
  write({ ...before, violations: [...before.violations, { ...when(code), seed, error: first }] })
}

/**
 * @param {'cases' | 'bugs'} kind
 * @param {string} code
 * @param {readonly Exhausted[] | readonly Caught[]} figures
 */
export function recordLast(kind, code, figures) {
  write({ ...onRecord(), [kind]: { ...when(code), figures } })
}

/**
 * @param {string} code
 * @returns {When}
 */
function when(code) {
  return { date: new Date().toISOString().slice(0, 10), node: process.version, code }
}

/** @param {OnRecord} record */
function write(record) {
  replace(file, `${JSON.stringify(record, null, 2)}\n`)
  replace(page, withFigures(readFileSync(page, 'utf8'), record))
}

/**
 * In one go, so that whoever is ended meanwhile leaves what was there.
 *
 * @param {string} path
 * @param {string} text
 */
function replace(path, text) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}

/**
 * Campaigns of one day and one code that went on from each other are one: there may be hundreds.
 *
 * @param {readonly Campaign[]} campaigns
 */
function joined(campaigns) {
  /** @type {Campaign[]} */
  const all = []
  for (const one of campaigns) {
    const last = all.at(-1)
    if (last !== undefined && isContinued(last, one)) all[all.length - 1] = { ...last, ...together(last, one) }
    else all.push(one)
  }
  return all
}

/**
 * @param {Campaign} last
 * @param {Campaign} one
 */
function isContinued(last, one) {
  return last.to + 1 === one.from && last.date === one.date && last.node === one.node && last.code === one.code
}

/**
 * @param {Campaign} a
 * @param {Campaign} b
 */
function together(a, b) {
  const schedules = a.schedules + b.schedules
  const busySeconds = a.schedules / a.perSecond + b.schedules / b.perSecond
  return { to: b.to, schedules, perSecond: Math.round(schedules / busySeconds), reached: reachedBy([a, b]) }
}
