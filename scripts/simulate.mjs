/**
 * `npm run simulate`: the real engine, door and workers on a simulated store, clock, network and provider. First every
 * schedule of the small cases, then as many random ones of large scenarios as were asked for. A schedule that breaks a promise
 * is told in words, with the seed that repeats it.
 */
import { availableParallelism } from 'node:os'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { exitOnSignals } from './processes.mjs'
import { bundled } from './simulation/bundle.mjs'
import { campaign } from './simulation/campaign.mjs'
import { cases } from './simulation/cases.mjs'
import { repeated } from './simulation/repeated.mjs'
import { nextSeed, record } from './simulation/results.mjs'
import { sabotage } from './simulation/sabotage.mjs'

const help = `npm run simulate -- [options]

  --schedules N   random schedules to run (default 200000)
  --minutes N     and no longer than this (default 2)
  --from SEED     the first of their seeds (default 1)
  --record        go on after the last seed on record, and put what was run on record, in docs/RELIABILITY.md
  --cases         only the small cases, all schedules of each
  --random        only the random ones
  --seed SEED     one seed again, in words
  --sabotage      plant every known bug, and see that each is caught
  --bug WORDS     of these, only those that have the words in their name; nothing is put on record
  --processes N   how many at once (default: as many as there are cores)
  --help          this text
`

exitOnSignals()
const { values: asked } = parseArgs({
  options: {
    schedules: { type: 'string' },
    minutes: { type: 'string' },
    from: { type: 'string' },
    record: { type: 'boolean' },
    cases: { type: 'boolean' },
    random: { type: 'boolean' },
    seed: { type: 'string' },
    sabotage: { type: 'boolean' },
    bug: { type: 'string' },
    processes: { type: 'string' },
    help: { type: 'boolean' },
  },
})
process.exitCode = (await main()) ? 0 : 1

async function main() {
  if (asked.help) {
    console.log(help)
    return true
  }
  const processes = wholeNumber('processes', availableParallelism())
  if (asked.bug !== undefined) return (await sabotage(processes, asked.bug)) !== undefined
  if (asked.sabotage) return recorded('bugs', await sabotage(processes, ''))
  const bundle = await bundled('simulate')
  if (asked.seed !== undefined) return repeated(bundle, wholeNumber('seed', 1))
  if (!asked.random && !recorded('cases', await cases(bundle, processes))) return false
  if (asked.cases) return true
  const ran = await campaign({
    bundle,
    processes,
    from: asked.record ? nextSeed() : wholeNumber('from', 1),
    schedules: wholeNumber('schedules', asked.minutes === undefined ? 200_000 : 1e9),
    minutes: wholeNumber('minutes', 2),
  })
  return recorded('campaigns', ran)
}

/**
 * Whether it went well; and if it did and was to be recorded, it is.
 *
 * @param {import('./simulation/results.mjs').Kind} kind
 * @param {readonly object[] | undefined} figures
 */
function recorded(kind, figures) {
  if (figures !== undefined && asked.record) record(kind, figures)
  return figures !== undefined
}

/**
 * @param {'schedules' | 'minutes' | 'from' | 'seed' | 'processes'} name
 * @param {number} otherwise
 */
function wholeNumber(name, otherwise) {
  const text = asked[name]
  if (text === undefined) return otherwise
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  console.error(`--${name} is a whole number from 1, not ${text}.`)
  process.exit(2)
}
