/** What is on record, as the tables of docs/RELIABILITY.md. */
import { reachedBy } from './range.mjs'

/**
 * @typedef {import('./results.mjs').OnRecord} OnRecord
 * @typedef {import('./results.mjs').Campaign} Campaign
 * @typedef {import('./results.mjs').When} When
 */

/** By which a campaign counts its large schedules. */
const large = 'five requests or more, of several tenants, at several nodes'

/**
 * The page with the figures that are on record.
 *
 * @param {string} text
 * @param {OnRecord} record
 */
export function withFigures(text, record) {
  const [before, , after] = text.split(/<!-- (?:figures|end of figures) -->\n/)
  return `${before}<!-- figures -->\n${tables(record)}<!-- end of figures -->\n${after}`
}

/** @param {OnRecord} record */
function tables({ campaigns, violations, cases, bugs }) {
  const exhausted = cases.figures.map(
    ({ name, schedules, cut, states, isExhausted }) =>
      `| ${name} | ${schedules} | ${cut} | ${states} | ${isExhausted ? 'exhausted' : 'not exhausted'} |`,
  )
  const runs = campaigns.map((one) => `| ${cellsOf(one, violations).join(' | ')} |`)
  const broken = violations.map(({ date, code, seed, error }) => `| ${date} | ${code} | ${seed} | ${error} |`)
  const reached = Object.entries(reachedBy(campaigns)).map(([name, count]) => `| ${name} | ${count} |`)
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
      titleOf(campaigns, violations, cases),
      'npm run simulate -- --random --record --schedules N',
      [
        '| date | node | code | schedules | of them large | per second of a core | violations | run again by |',
        '|---|---|---|---:|---:|---:|---:|---|',
      ],
      runs,
    ),
    section(
      'Random schedules that broke a promise',
      'npm run simulate -- --random --record --schedules N',
      ['| date | code | seed | what was broken |', '|---|---|---:|---|'],
      broken,
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

/**
 * @param {readonly Campaign[]} campaigns
 * @param {OnRecord['violations']} violations
 * @param {When} cases
 */
function titleOf(campaigns, violations, cases) {
  const sound = campaigns.filter((one) => violationsOn(one, violations) === 0)
  const onSameCode = sound.filter(({ code }) => code === cases.code)
  const [all, same] = [sound, onSameCode].map((some) => inWords(schedulesOf(some)))
  return `Random schedules: ${all} without a violation, ${same} of them on the same code as the cases above`
}

/**
 * @param {Campaign} campaign
 * @param {OnRecord['violations']} violations
 */
function cellsOf(campaign, violations) {
  const { date, node, code, from, schedules, perSecond, reached } = campaign
  const again = `\`npm run simulate -- --random --from ${from} --schedules ${schedules}\``
  return [date, node, code, schedules, reached[large] ?? 0, perSecond, violationsOn(campaign, violations), again]
}

/**
 * On the code of a campaign, whichever seed it was.
 *
 * @param {Campaign} campaign
 * @param {OnRecord['violations']} violations
 */
function violationsOn({ code }, violations) {
  return violations.filter((one) => one.code === code).length
}

/** @param {readonly Campaign[]} campaigns */
function schedulesOf(campaigns) {
  return campaigns.reduce((sum, { schedules }) => sum + schedules, 0)
}

/** @param {number} count */
function inWords(count) {
  return count.toLocaleString('en-US')
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
