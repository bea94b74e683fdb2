import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bugs } from './planted-bugs.mjs'

const folder = 'test/simulation/invariants'
const sources = ['test/simulation/invariants.ts', ...readdirSync(folder).map((name) => join(folder, name))].map(
  (file) => readFileSync(file, 'utf8'),
)

/** What every `demand` and `violated` says, as it stands in the source. */
const messages = sources.flatMap((source) =>
  [...source.matchAll(/(?:demand|violated)\(\s*(?:[^`]*?\(\) =>\s*)?`([^`]*)`/g)].map(([, message = '']) => message),
)

/** What a message says whatever it is about. Short words stand in many. */
function piecesOf(message: string): readonly string[] {
  const pieces = message.split(/\$\{(?:[^{}]|\{[^}]*\})*\}/).map((piece) => piece.trim())
  return pieces.filter((piece) => piece.length > 5)
}

/** What the planted bugs are caught by saying, in plain letters. Cases of the suite judge by themselves. */
const caught = bugs.flatMap(({ caughtBy, says }) =>
  'suite' in caughtBy || says === undefined ? [] : [says.source.replaceAll(/\\([^a-z])/gi, '$1')],
)

/** Nothing in the engine can be broken in such a way that it is these which say so. */
const spokenFor: Readonly<Record<string, string>> = {
  'got two different answers':
    'what is sent is what is stored, and that does not change: both are judged before it is heard',
  'got an answer from before the last one': 'what is sent is what is stored by then: that is judged before it is heard',
  'a request was refused with … , and asked for a': 'whoever asks a provider has written down before that he does',
  'there is a record of … , which nobody has sent':
    'what is stored under another name is not where its answer is looked for when that is sent',
  'was abandoned although nothing is left of it': 'the reaper buries first what has left nothing behind',
  'was deleted while it was': 'an effect is deleted with its record alone, which is judged first',
}

describe('what a judge says', () => {
  test('is said of a planted bug, or there is a reason why another judge speaks first', () => {
    const isSaid = (pieces: readonly string[]) => caught.some((says) => pieces.every((piece) => says.includes(piece)))
    const silent = messages.map(piecesOf).filter((pieces) => !isSaid(pieces))
    expect(silent.map((pieces) => pieces.join(' … ')).sort()).toEqual(Object.keys(spokenFor).sort())
  })

  test('is one thing for each planted bug', () => {
    expect(caught.filter((says) => says.includes('|'))).toEqual([])
  })

  test('is found wherever it stands in the source', () => {
    const calls = sources.flatMap((source) => source.match(/\b(?:demand|violated)\(/g) ?? [])
    expect(messages.length).toBe(calls.length)
  })
})
