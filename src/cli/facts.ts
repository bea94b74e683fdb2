import { paint } from './paint.js'
import { wrapped } from './table.js'

const longest = 100

/** What is known of one thing: facts by their names, then sentences, which are wrapped where a person reads them. */
export function factsText(facts: readonly (readonly [string, string])[], sentences: readonly string[]): string {
  const { columns } = process.stdout
  const told =
    columns === undefined ? sentences : sentences.flatMap((sentence) => wrapped(sentence, Math.min(columns, longest)))
  return [...facts.map(([name, value]) => `${paint('bold', name.padEnd(11))}${value}`), '', ...told].join('\n')
}
