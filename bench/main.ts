/** `npm run bench -- <name>`: see `--help`. */
import { parseArgs } from 'node:util'
import { judged } from './aims.js'
import { benches } from './benches.js'
import type { Bench } from './harness/bench.js'
import { disturbed } from './harness/disturbed.js'
import { type Circumstances, circumstances } from './harness/machine.js'
import { watchOthers } from './harness/others.js'
import { putOnRecord, type Result } from './harness/results.js'
import { plainTable, shown } from './harness/table.js'
import { helpOf, usage } from './help.js'
import { report } from './report/report.js'

/** Everything ends: no turn is longer than a minute, and no bench has more than a hundred rounds. */
const most = { rounds: 100, seconds: 60 } as const

const { values: options, positionals } = given()
process.exitCode = await main()

function given() {
  try {
    return parseArgs({
      args: process.argv.slice(2),
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        record: { type: 'boolean' },
        'no-record': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage(benches)}`)
    process.exit(2)
  }
}

async function main(): Promise<number> {
  const [name, ...rest] = positionals
  const bench = benches.find((one) => one.name === name)
  if (options.help || positionals.length === 0) {
    console.log(bench === undefined ? usage(benches) : helpOf(bench))
    return 0
  }
  if (name === 'report' && rest.length === 0) {
    for (const file of report()) console.log(`wrote ${file}`)
    return 0
  }
  if (bench === undefined || rest.length > 0) {
    console.error(usage(benches))
    return 2
  }
  return measure(bench)
}

async function measure(bench: Bench): Promise<number> {
  const turns = { rounds: number('rounds', bench.turns.rounds), seconds: number('seconds', bench.turns.seconds) }
  const around = await circumstances()
  console.log(`${bench.name}: ${bench.measures}\n${told(around)}`)
  const others = watchOthers()
  const startedAt = performance.now()
  const measured = await bench.run({
    ...turns,
    say: (line) => console.error(`  ${((performance.now() - startedAt) / 1_000).toFixed(0).padStart(4)} s  ${line}`),
  })
  const busyMeanwhile = others()
  const aims = judged(bench.name, measured.ratios)
  const meanwhile = busyMeanwhile === undefined ? {} : { busyMeanwhile }
  const result: Result = { bench: bench.name, ...measured, aims, command: command(), ...around, ...meanwhile }
  if (Object.keys(measured.versions).length > 0) console.log(`\n${versionsOf(result)}`)
  for (const table of measured.tables) console.log(`\n${plainTable(table)}`)
  if (measured.remarks.length > 0) console.log(`\n${measured.remarks.join('\n')}`)
  if (aims.length > 0) console.log(`\nAims`)
  for (const { what, aim, measured, verdict } of aims)
    console.log(`  ${verdict.padEnd(12)} ${what}: ${measured === undefined ? '-' : shown(measured)} (${aim})`)
  keep(result)
  console.log(JSON.stringify(result))
  if (measured.failure !== undefined) console.error(measured.failure)
  return measured.failure === undefined ? 0 : 1
}

/** Numbers that others have a share in are not what this code does. */
function keep(result: Result): void {
  const why = disturbed(result)
  if (why !== undefined) console.log(`\nThese are not the numbers of a quiet machine: ${why}.`)
  if (options['no-record']) return
  if (why === undefined || options.record) {
    putOnRecord(result)
    console.log(`\nPut on record in bench/results/${result.bench}.jsonl; npm run bench -- report shows it in docs.`)
  } else {
    console.log('Not put on record: --record does so all the same.')
  }
}

function told({ node, cores, processor, memoryGb, busyBefore, load, commit }: Circumstances): string {
  const busy = `${Math.round(busyBefore * 100)} % busy before, load ${load}`
  return `Node.js ${node}, ${cores} × ${processor}, ${memoryGb} GB; ${busy}; commit ${commit}`
}

function versionsOf({ versions }: Result): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')
}

function command(): string {
  return ['npm run bench --', ...process.argv.slice(2).filter((word) => !word.endsWith('record'))].join(' ')
}

function number(name: keyof typeof most, otherwise: number): number {
  const text = options[name]
  if (text === undefined) return otherwise
  const given = Number(text)
  const isFit = given > 0 && given <= most[name] && (name === 'seconds' || Number.isInteger(given))
  if (isFit) return given
  console.error(`--${name} is ${name === 'rounds' ? 'a whole number' : 'a number'} up to ${most[name]}, not ${text}.`)
  process.exit(2)
}
