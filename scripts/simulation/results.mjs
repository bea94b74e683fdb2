/** What was run, on record: campaigns as ranges of seeds, so that they add up; of cases and planted bugs the last run. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { root } from '../root.mjs'

/**
 * @typedef {'campaigns' | 'cases' | 'bugs'} Kind
 * @typedef {import('./campaign.mjs').Ran & { date: string, node: string }} Campaign
 *
 * @typedef {object} OnRecord
 * @property {readonly Campaign[]} campaigns
 * @property {{ date: string, node: string, figures: readonly import('./cases.mjs').Exhausted[] }} cases
 * @property {{ date: string, node: string, figures: readonly { bug: string, caughtBy: string }[] }} bugs
 */

const file = join(root, 'docs', 'reliability', 'simulation.json')
const page = join(root, 'docs', 'RELIABILITY.md')
const nothing = { campaigns: [], cases: { date: '', node: '', figures: [] }, bugs: { date: '', node: '', figures: [] } }

/** @returns {OnRecord} */
function onRecord() {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : nothing
}

/** The first seed that no campaign has run. */
export function nextSeed() {
  return Math.max(0, ...onRecord().campaigns.map(({ to }) => to)) + 1
}

/**
 * @param {Kind} kind
 * @param {readonly object[]} figures
 */
export function record(kind, figures) {
  const when = { date: new Date().toISOString().slice(0, 10), node: process.version }
  const before = onRecord()
  const now =
    kind === 'campaigns'
      ? { ...before, campaigns: joined([...before.campaigns, ...ran(figures).map((one) => ({ ...when, ...one }))]) }
      : { ...before, [kind]: { ...when, figures } }
  writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
  writeFileSync(page, withFigures(readFileSync(page, 'utf8')))
}

/** @param {readonly object[]} figures */
function ran(figures) {
  return /** @type {readonly import('./campaign.mjs').Ran[]} */ (figures)
}

/**
 * Campaigns of one day that went on from each other are one: there may be hundreds.
 *
 * @param {readonly Campaign[]} campaigns
 */
function joined(campaigns) {
  /** @type {Campaign[]} */
  const all = []
  for (const one of campaigns) {
    const last = all.at(-1)
    if (last === undefined || last.date !== one.date || last.node !== one.node || last.to + 1 !== one.from)
      all.push(one)
    else all[all.length - 1] = { ...last, ...together(last, one) }
  }
  return all
}

/**
 * @param {Campaign} a
 * @param {Campaign} b
 */
function together(a, b) {
  const schedules = a.schedules + b.schedules
  const busySeconds = a.schedules / a.perSecond + b.schedules / b.perSecond
  return { to: b.to, schedules, seconds: a.seconds + b.seconds, perSecond: Math.round(schedules / busySeconds) }
}

/**
 * The page with the figures that are on record.
 *
 * @param {string} text
 */
export function withFigures(text) {
  const [before, , after] = text.split(/<!-- (?:figures|end of figures) -->\n/)
  return `${before}<!-- figures -->\n${tables(onRecord())}<!-- end of figures -->\n${after}`
}

/** @param {OnRecord} record */
function tables({ campaigns, cases, bugs }) {
  const total = campaigns.reduce((sum, { schedules }) => sum + schedules, 0)
  const exhausted = cases.figures.map(
    ({ name, schedules, states }) => `| ${name} | ${schedules} | ${states} | exhausted |`,
  )
  const runs = campaigns.map(
    ({ date, node, from, to, schedules, perSecond }) =>
      `| ${date} | ${node} | ${from} to ${to} | ${schedules} | ${perSecond} |`,
  )
  const caught = bugs.figures.map(({ bug, caughtBy }) => `| ${bug} | ${caughtBy} |`)
  return [
    section(
      `Every schedule of the small cases (${cases.date}, node ${cases.node})`,
      'npm run simulate -- --cases --record',
      ['| case | schedules | states | |', '|---|---:|---:|---|'],
      exhausted,
    ),
    section(
      `Random schedules: ${total} in all, 0 violations, each campaign on the code of its day`,
      'npm run simulate -- --random --minutes N --record',
      ['| date | node | seeds | schedules | per second of a core |', '|---|---|---|---:|---:|'],
      runs,
    ),
    section(
      `Planted bugs: all ${caught.length} are caught (${bugs.date}, node ${bugs.node})`,
      'npm run simulate -- --sabotage --record',
      ['| bug | caught by |', '|---|---|'],
      caught,
    ),
  ].join('')
}

/**
 * What is not on record has no section.
 *
 * @param {string} title
 * @param {string} command
 * @param {readonly string[]} head
 * @param {readonly string[]} rows
 */
function section(title, command, head, rows) {
  if (rows.length === 0) return ''
  return `${[`### ${title}`, '', `\`${command}\``, '', ...head, ...rows, ''].join('\n')}\n`
}
