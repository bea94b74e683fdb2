/**
 * What `npm run simulate` runs: the real engine, door and workers on a simulated store, clock, network and provider. First every
 * schedule of the small cases, then as many random ones of large scenarios as were asked for. A schedule that breaks a promise
 * is told in words, with the seed that repeats it.
 */
import { availableParallelism } from 'node:os'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { bundled, codeOf } from './bundle.mjs'
import { campaign, lastSeed } from './campaign.mjs'
import { cases } from './cases.mjs'
import { EndedEarly } from './child.mjs'
import { holdRecord } from './holding.mjs'
import { repeated } from './repeated.mjs'
import { nextSeed, onRecord, recordCampaign, recordLast, recordViolation, whyNotOnRecord } from './results.mjs'
import { sabotage } from './sabotage.mjs'

const help = `npm run simulate -- [options]

Every schedule of the small cases, then random ones.

  --cases         only the small cases, all schedules of each
  --case WORDS    instead: only those cases that have the words in their name; nothing is put on record
  --random        only the random ones
  --schedules N   so many of them (default 200000, or as many as there is time for)
  --minutes N     for no longer than this (default 2, or as long as it takes where --schedules is said)
  --from SEED     the first of their seeds (default 1)
  --seed SEED     one seed again, in words
  --sabotage      plant every known bug, and see that each is caught; for those in SQL a PostgreSQL is started
  --bug WORDS     instead: only those bugs that have the words in their name, each with the schedule or the case that shows it
  --record        put what was run on record, in docs/RELIABILITY.md; random ones go on after the last seed that is there
  --processes N   how many at once (default: as many as there are cores)
  --help          this text
`

/** What is run: one of these. */
const modes = /** @type {const} */ (['cases', 'case', 'random', 'seed', 'sabotage', 'bug'])

/** What has a say only in random schedules. */
const ofRandom = /** @type {const} */ (['schedules', 'minutes', 'from'])

const asked = askedFor()
const numbers = {
  schedules: wholeNumber('schedules'),
  minutes: number('minutes', 'a number above 0', (minutes) => Number.isFinite(minutes) && minutes > 0),
  from: seedNumber('from'),
  seed: seedNumber('seed'),
  processes: wholeNumber('processes') ?? availableParallelism(),
}
refuseContradictions()
process.exitCode = asked.help || (await main().catch(endedEarly)) ? 0 : 1

async function main() {
  const { processes, seed } = numbers
  if (asked.record) takeRecord()
  const bundle = await bundled('simulate')
  const code = codeOf(bundle)
  const known = onRecord().cases.code
  console.log(`code ${code}${known === code ? '' : `; the small cases on record ran on ${known}`}`)
  if (seed !== undefined) return repeated(bundle, seed)
  if (asked.bug !== undefined) return (await sabotage(processes, asked.bug)) !== undefined
  if (asked.sabotage) return lasts('bugs', code, await sabotage(processes, ''))
  if (asked.case !== undefined) return (await cases(bundle, processes, asked.case)) !== undefined
  if (!asked.random && !lasts('cases', code, await cases(bundle, processes, ''))) return false
  if (asked.cases) return true
  return campaign({ bundle, processes, ...asRandom(), ...(asked.record && kept(code)) })
}

/**
 * Each range of seeds is on record as soon as it has run, so that nothing is lost when somebody ends it.
 *
 * @param {string} code
 */
function kept(code) {
  return {
    keep: (/** @type {import('./campaign.mjs').Ran} */ ran) => recordCampaign(code, ran),
    broke: (/** @type {import('./told.mjs').Failed} */ failed) => recordViolation(code, failed),
  }
}

/** One at a time, or two would run the same seeds and both count them. */
function takeRecord() {
  const why = whyNotOnRecord() ?? holdRecord()
  if (why !== undefined) refuse(why)
}

/**
 * A process that ended is told in a sentence; anything else is a bug of ours.
 *
 * @param {unknown} error
 */
function endedEarly(error) {
  if (!(error instanceof EndedEarly)) throw error
  console.error(`✗ ${error.message}`)
  return false
}

/** Which random schedules are asked for. Where nobody says how many, none are beyond the last seed. */
function asRandom() {
  const { schedules, minutes, from: first = 1 } = numbers
  const from = asked.record ? nextSeed() : first
  const usual = Math.max(1, Math.min(200_000, lastSeed - from + 1))
  return {
    from,
    schedules: schedules ?? (minutes === undefined ? usual : Number.POSITIVE_INFINITY),
    minutes: minutes ?? (schedules === undefined ? 2 : Number.POSITIVE_INFINITY),
  }
}

function askedFor() {
  try {
    const { values } = parseArgs({
      options: {
        cases: { type: 'boolean' },
        case: { type: 'string' },
        random: { type: 'boolean' },
        schedules: { type: 'string' },
        minutes: { type: 'string' },
        from: { type: 'string' },
        seed: { type: 'string' },
        sabotage: { type: 'boolean' },
        bug: { type: 'string' },
        record: { type: 'boolean' },
        processes: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
    if (values.help) console.log(help)
    return values
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

/** Before anything runs, so that nobody waits for what was not asked for. */
function refuseContradictions() {
  const said = modes.filter((mode) => asked[mode] !== undefined)
  if (said.length > 1) refuse(`--${said.join(' and --')} are different things: say one of them.`)
  const [mode] = said
  const idle = ofRandom.find((name) => asked[name] !== undefined)
  if (idle !== undefined && mode !== undefined && mode !== 'random') refuse(`--${idle} says nothing to --${mode}.`)
  if (mode === undefined || mode === 'random') refuseTooMany()
  if (!asked.record) return
  if (mode === 'seed' || mode === 'case' || mode === 'bug') refuse(`--${mode} is part of a run, and not put on record.`)
  if (asked.from !== undefined) refuse('--record goes on after the last seed on record: leave out --from.')
}

function refuseTooMany() {
  const why = asked.record ? whyNotOnRecord() : undefined
  if (why !== undefined) refuse(why)
  const { from, schedules } = asRandom()
  const left = lastSeed - from + 1
  if (left > 0 && (schedules <= left || schedules === Number.POSITIVE_INFINITY)) return
  refuse(`The last seed is ${lastSeed}: from ${from} on there are no ${schedules} schedules, but ${left}.`)
}

/**
 * Whether it went well; and if it did and was to be recorded, it is.
 *
 * @param {'cases' | 'bugs'} kind
 * @param {string} code
 * @param {Parameters<typeof recordLast>[2] | undefined} figures
 */
function lasts(kind, code, figures) {
  if (figures === undefined) return false
  if (asked.record) {
    recordLast(kind, code, figures)
    console.log('  it is on record: docs/RELIABILITY.md')
  }
  return true
}

/** @param {'from' | 'seed'} name */
function seedNumber(name) {
  const isSeed = (/** @type {number} */ given) => Number.isSafeInteger(given) && given > 0 && given <= lastSeed
  return number(name, `a whole number from 1 to ${lastSeed}`, isSeed)
}

/** @param {'schedules' | 'processes'} name */
function wholeNumber(name) {
  return number(name, 'a whole number from 1', (given) => Number.isSafeInteger(given) && given > 0)
}

/**
 * @param {'schedules' | 'minutes' | 'from' | 'seed' | 'processes'} name
 * @param {string} what it has to be, in words
 * @param {(given: number) => boolean} isRight
 */
function number(name, what, isRight) {
  const text = asked[name]
  if (text === undefined) return undefined
  const given = Number(text)
  return isRight(given) ? given : refuse(`--${name} is ${what}, not ${text}.`)
}

/**
 * @param {string} why
 * @returns {never}
 */
function refuse(why) {
  console.error(`${why}\nWhat there is: npm run simulate -- --help`)
  process.exit(2)
}
