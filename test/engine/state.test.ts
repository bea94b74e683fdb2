import { describe, expect, test } from 'vitest'
import { type Happening, nextState, type State, states, stateTable } from '../../src/engine/state.js'

/** DESIGN §2, row by row. `renew` and `checkpoint` are what "renewed while the handler runs" and phases need; `purge` is §10. */
const design = [
  'none        reserve            in_progress      request',
  'expired     reserve            in_progress      request',
  'in_progress renew              in_progress      holder',
  'in_progress checkpoint         in_progress      holder',
  'in_progress complete           completed        holder',
  'in_progress release            none             holder',
  'in_progress release_attempt    failed_retryable holder',
  'in_progress release_generation expired          holder',
  'in_progress fail               failed_retryable holder',
  'in_progress doubt              unknown          holder',
  'in_progress resume             in_progress      request',
  'in_progress sweep              unknown          sweeper',
  'in_progress abandon            unknown          reaper',
  'unknown     complete           completed        holder',
  'failed_retryable resume        in_progress      request',
  'unknown     settle_completed   completed        evidence',
  'unknown     settle_landed      failed_retryable evidence',
  'unknown     settle_not_landed  failed_retryable evidence',
  'completed   bury               expired          reaper',
  'failed_retryable bury          expired          reaper',
  'failed_retryable abandon       unknown          reaper',
  'expired     delete             none             reaper',
  'completed   purge              expired          operator',
].map((row) => row.split(/ +/))

const everyState: readonly (State | 'none')[] = ['none', ...states]
const everyHappening = [...new Set(stateTable.map(({ on }) => on))]

describe('the state table', () => {
  test('has the rows of the design and no other', () => {
    expect(stateTable.map(({ from, on, to, by }) => [from, on, to, by]).sort()).toEqual([...design].sort())
  })

  test('has the five states of the design', () => {
    expect(states).toEqual(['in_progress', 'completed', 'failed_retryable', 'unknown', 'expired'])
  })

  test('leads from one state by one happening to one place only', () => {
    const ways = stateTable.map(({ from, on }) => `${from} ${on}`)
    expect(new Set(ways).size).toBe(ways.length)
  })

  test.each(everyState.flatMap((from) => everyHappening.map((on) => ({ from, on }))))(
    '$on from $from leads where the design says, or nowhere',
    ({ from, on }) => {
      expect(nextState(from, on)).toBe(design.find((row) => row[0] === from && row[1] === on)?.[2])
    },
  )

  test('reaches every state from nothing, and nothing from every state', () => {
    expect(reachableFrom('none')).toEqual(new Set(everyState))
    for (const state of everyState) expect(reachableFrom(state)).toContain('none')
  })

  test('never lets a client retry end a doubt', () => {
    const ends = stateTable.filter(({ from, to }) => from === 'unknown' && to !== 'unknown')
    expect(ends.filter(({ by }) => by === 'request' || by === 'sweeper' || by === 'reaper')).toEqual([])
  })

  test('never buries or deletes what is in progress or unknown', () => {
    const reaped = stateTable.filter(({ by, to }) => by === 'reaper' && to !== 'unknown').map(({ from }) => from)
    expect(reaped.sort()).toEqual(['completed', 'expired', 'failed_retryable'])
  })
})

function reachableFrom(start: State | 'none'): ReadonlySet<State | 'none'> {
  const reached = new Set<State | 'none'>()
  const frontier = [start]
  for (let from = frontier.pop(); from !== undefined; from = frontier.pop()) {
    for (const on of everyHappening satisfies Happening[]) {
      const to = nextState(from, on)
      if (to === undefined || reached.has(to)) continue
      reached.add(to)
      frontier.push(to)
    }
  }
  return reached
}
