import { aims } from './aims.js'
import type { Bench } from './harness/bench.js'
import { type Need, sources } from './harness/needs.js'

export function usage(benches: readonly Bench[]): string {
  const width = Math.max(...benches.map(({ name }) => name.length))
  const list = benches.map(({ name, measures }) => `  ${name.padEnd(width)}   ${measures}`)
  return `npm run bench -- <name> [options]      measures one thing, beside what it is compared with
npm run bench -- <name> --help         how, and what it should reach
npm run bench -- report                shows what is on record in docs/PERFORMANCE.md, with charts

${list.join('\n')}

  --rounds N     how often what is compared takes turns
  --seconds N    how long each turn is
  --record       puts the result on record though the machine is busy
  --no-record    puts it on record in no case

What is compared takes turns in one run, and the median counts: a shared machine is not as fast now as a minute ago, so that
only ratios of one run mean anything. Each prints tables for people and ends with one line of JSON, which is also what
bench/results/<name>.jsonl keeps. Servers are real, durable where that is the point, on the loopback, and end with the
bench. Give it a machine that does nothing else: what others take of it is looked at before and meanwhile.

What is missing is installed. All of them: the dependencies of Hapax, by npm ci. Some of them, which say so in their help:

${Object.values(sources).join('\n')}

Who does not start is left out, and the bench says why; without PostgreSQL, and in peers without those packages, nothing is
measured.`
}

export function helpOf({ name, measures, how, needs, turns }: Bench): string {
  const own = aims.filter(({ bench }) => bench === name)
  const bounds = own.map(
    ({ what, bound }) => `  ${'atLeast' in bound ? `≥ ${bound.atLeast}` : `≤ ${bound.atMost}`}   ${what}`,
  )
  return [
    `npm run bench -- ${name} [--rounds ${turns.rounds}] [--seconds ${turns.seconds}]`,
    `\n${measures}\n\n${how}`,
    `\n${installs(needs)}`,
    own.length === 0 ? '' : `\nAims\n${bounds.join('\n')}`,
  ]
    .filter((part) => part !== '')
    .join('\n')
}

function installs(needs: readonly Need[]): string {
  const own = 'Installs, where it is missing: the dependencies of Hapax, by npm ci.'
  return [own, ...needs.map((need) => sources[need])].join('\n')
}
