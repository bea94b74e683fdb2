/** What was run, on record: campaigns as ranges of seeds, so that they add up; of cases and planted bugs the last run. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { root } from '../root.mjs'

/**
 * @typedef {'campaigns' | 'cases' | 'bugs'} Kind
 * @typedef {{ date: string, node: string, code: string }} When of which code: the digest of what ran
 * @typedef {import('./campaign.mjs').Ran & When} Campaign
 * @typedef {import('./cases.mjs').Exhausted} Exhausted
 *
 * @typedef {object} OnRecord
 * @property {readonly Campaign[]} campaigns
 * @property {When & { figures: readonly (Omit<Exhausted, 'cut'> & Partial<Exhausted>)[] }} cases how many were cut was not always kept
 * @property {When & { figures: readonly { bug: string, caughtBy: string }[] }} bugs
 */

const file = join(root, 'docs', 'reliability', 'simulation.json')
const page = join(root, 'docs', 'RELIABILITY.md')
const never = { date: '', node: '', code: '', figures: [] }
/** By which a campaign counts its large schedules; the first ones did not. */
const large = 'five requests or more, of several tenants, at several nodes'
const nothing = { campaigns: [], cases: never, bugs: never }

/** @returns {OnRecord} */
export function onRecord() {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : nothing
}

/** The first seed that no campaign has run. */
export function nextSeed() {
  return Math.max(0, ...onRecord().campaigns.map(({ to }) => to)) + 1
}

/**
 * @param {Kind} kind
 * @param {string} code
 * @param {readonly object[]} figures
 */
export function record(kind, code, figures) {
  const when = { date: new Date().toISOString().slice(0, 10), node: process.version, code }
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
  const perSecond = Math.round(schedules / busySeconds)
  return { to: b.to, schedules, seconds: a.seconds + b.seconds, perSecond, reached: reachedBy([a, b]) }
}

/**
 * What campaigns came by, added up. Later ones may count more than those before them.
 *
 * @param {readonly Campaign[]} campaigns
 */
function reachedBy(campaigns) {
  const counted = campaigns.map(({ reached }) => reached)
  const names = [...new Set(counted.flatMap(Object.keys))]
  return Object.fromEntries(names.map((name) => [name, counted.reduce((sum, one) => sum + (one[name] ?? 0), 0)]))
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
  const total = inWords(schedulesOf(campaigns))
  const onSameCode = inWords(schedulesOf(campaigns.filter(({ code }) => code === cases.code)))
  const cameBy = reachedBy(campaigns)
  const exhausted = cases.figures.map(
    ({ name, schedules, cut = '', states }) => `| ${name} | ${schedules} | ${cut} | ${states} | exhausted |`,
  )
  const runs = campaigns.map(
    (one) =>
      `| ${one.date} | ${one.node} | ${one.code} | ${one.schedules} | ${one.perSecond} | ${one.from} to ${one.to}${again(one)} |`,
  )
  const reached = Object.entries(cameBy).map(([name, count]) => `| ${name} | ${count} |`)
  const caught = bugs.figures.map(({ bug, caughtBy }) => `| ${bug} | ${caughtBy} |`)
  return [
    section(
      `Every schedule of the small cases (${wordsOf(cases)})`,
      'npm run simulate -- --cases --record',
      [
        '| case | schedules | of them left where they go on like an earlier one | states | |',
        '|---|---:|---:|---:|---|',
      ],
      exhausted,
    ),
    section(
      `Random schedules: ${total} in all, 0 violations; ${onSameCode} of them on the same code as the cases above, and at least ${inWords(cameBy[large] ?? 0)} of all of them large`,
      'npm run simulate -- --random --record --schedules N',
      ['| date | node | code | schedules | per second of a core | seeds |', '|---|---|---|---:|---:|---|'],
      runs,
    ),
    section(
      'What random schedules came by, while something could still go wrong',
      'npm run simulate -- --random --record --schedules N',
      ['| what | schedules |', '|---|---:|'],
      reached,
    ),
    section(
      `Planted bugs: all ${caught.length} are caught (${wordsOf(bugs)})`,
      'npm run simulate -- --sabotage --record',
      ['| bug | caught by |', '|---|---|'],
      caught,
    ),
  ].join('')
}

/** @param {readonly Campaign[]} campaigns */
function schedulesOf(campaigns) {
  return campaigns.reduce((sum, { schedules }) => sum + schedules, 0)
}

/** @param {number} count */
function inWords(count) {
  return count.toLocaleString('en-US')
}

/**
 * What runs a campaign again, where it says of which code it was: no other has the same schedules of these seeds.
 *
 * @param {Campaign} campaign
 */
function again({ code, from, schedules }) {
  if (!/^[0-9a-f]{12}$/.test(code)) return ''
  return `, \`npm run simulate -- --random --from ${from} --schedules ${schedules}\``
}

/** @param {When} when */
function wordsOf({ date, node, code }) {
  return `${date}, node ${node}, code ${code}`
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
