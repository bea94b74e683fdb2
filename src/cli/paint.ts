import { styleText } from 'node:util'

type Colour = Parameters<typeof styleText>[0]

/** Colours only where a person looks, and did not say that he wants none. */
export function paint(colour: Colour, text: string): string {
  const isWanted = process.stdout.isTTY === true && process.env.NO_COLOR === undefined && process.env.TERM !== 'dumb'
  return isWanted ? styleText(colour, text, { validateStream: false }) : text
}

const colours: Readonly<Record<string, Colour>> = {
  in_progress: 'cyan',
  completed: 'green',
  failed_retryable: 'yellow',
  unknown: 'red',
  expired: 'gray',
  guarded: 'green',
  gap: 'red',
}

/** A state, in its colour. Painted text is longer than it looks: only for the end of a line, or a line of its own. */
export function painted(state: string): string {
  return paint(colours[state] ?? 'reset', state)
}
