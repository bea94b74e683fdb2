import { isHapaxError, type StoredRecord } from 'hapax'
import { describe, expect, test } from 'vitest'
import { type ClientLibrary, pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import type { Ending, Fate } from '../support/postgres-wire.js'
import { type Ended, ended } from '../support/waiting.js'
import { postgresBench } from './postgres-fixtures/bench.js'
import { comparable, everything, type Operation, operations, type Word } from './postgres-fixtures/operations.js'

/** Each operation, with its connection cut before and after each of its statements. */
onPostgres('a connection that is cut', (url) => {
  // The libraries differ in how they hear of an end, so one is closed and the other one reset.
  declare(url, pgLibrary, ['BEGIN'], 'closed')
  declare(url, postgresJs, ['BEGIN', 'SELECT'], 'reset')
})

function declare<Tx>(url: string, library: ClientLibrary<Tx>, opening: readonly Word[], ending: Ending): void {
  describe(`by ${library.name}`, () => {
    const bench = postgresBench(url)
    const { outside } = bench

    describe.each(operations(opening))('$name', (operation) => {
      const { statements } = operation
      let uncut: Course

      test(`takes ${statements.join(', ')}`, async () => {
        uncut = await course('pass', 0)
        expect(uncut.ended.kind).toBe('answered')
        expect(uncut.words).toEqual(statements)
      })

      for (const [index] of statements.entries()) {
        const at = index + 1
        const of = `${at} of ${statements.length}`
        test(`${operation.name}, cut before statement ${of}`, () => cutAt(at, 'cut before'))
        test(`${operation.name}, cut after statement ${of}`, () => cutAt(at, 'cut after'))
      }

      async function cutAt(at: number, fate: Exclude<Fate, 'pass'>): Promise<void> {
        const cut = await course(fate, at)
        const isApplied = (change: number) => at > change || (at === change && fate === 'cut after')
        expect(cut.between).toEqual(expectedAfter(operation, cut.before, uncut.between, isApplied))
        const isCommitted = operation.rides !== undefined && isApplied(operation.rides)
        expect(cut.rides).toEqual(isCommitted ? ['one'] : [])
        // Only a transaction knows how to find out what became of it.
        if (isCommitted) expect(comparable(answerOf(cut.ended))).toEqual(comparable(answerOf(uncut.ended)))
        else expect(codeOf(cut.ended)).toMatch(/^store_/)
        expect(cut.afterwards).toEqual(uncut.afterwards)
        expect(cut.ridesAfterwards).toEqual(isCommitted ? uncut.ridesAfterwards : uncut.rides)
      }

      /** Runs the operation with this fate for one of its statements, looks, mends the wire and runs it again. */
      async function course(fate: Fate, at: number): Promise<Course> {
        await operation.given(outside, bench)
        const node = await bench.node(library, { ending })
        const before = await everything(outside)
        node.wire.rule(() => (node.wire.statements.length === at ? fate : 'pass'))
        const first = await ended(operation.run(node))
        const words = node.wire.statements.map(({ word }) => word)
        const between = await everything(outside)
        const rides = await bench.rides()
        node.wire.heal()
        await ended(operation.run(node))
        const afterwards = await everything(outside)
        return { before, ended: first, words, between, rides, afterwards, ridesAfterwards: await bench.rides() }
      }
    })
  })
}

type Records = Readonly<Record<string, StoredRecord>>

/** What a run left behind: at once, and after it was repeated on a wire that is whole again. */
interface Course {
  readonly before: Records
  readonly ended: Ended
  readonly words: readonly string[]
  readonly between: Records
  readonly rides: readonly string[]
  readonly afterwards: Records
  readonly ridesAfterwards: readonly string[]
}

/** Each record exactly as before, or exactly as after a run without a cut. */
function expectedAfter(
  { changes }: Operation,
  before: Records,
  after: Records,
  isApplied: (change: number) => boolean,
): Records {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  const entries = [...keys].map((key) => {
    const change = changes[key]
    return [key, change !== undefined && isApplied(change) ? after[key] : before[key]] as const
  })
  return Object.fromEntries(entries.filter((entry): entry is [string, StoredRecord] => entry[1] !== undefined))
}

function answerOf(result: Ended): unknown {
  return result.kind === 'answered' ? result.answer : expect.fail(`It threw ${String(result.error)}`)
}

function codeOf(result: Ended): string {
  if (result.kind === 'answered') return `an answer: ${JSON.stringify(result.answer)}`
  return isHapaxError(result.error) ? result.error.code : `no HapaxError: ${String(result.error)}`
}
