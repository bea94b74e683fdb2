import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bundled } from '../../scripts/simulation/bundle.mjs'
import { campaign, type Ran } from '../../scripts/simulation/campaign.mjs'
import { type Line, simulated } from '../../scripts/simulation/child.mjs'
import { holdRecord } from '../../scripts/simulation/holding.mjs'
import { newRange } from '../../scripts/simulation/range.mjs'

const said: string[] = []

beforeEach(() => {
  said.length = 0
  for (const way of ['log', 'error'] as const)
    vi.spyOn(console, way).mockImplementation((words) => void said.push(words))
})

afterEach(() => vi.restoreAllMocks())

/** A process that simulates nothing, and answers each task by this. */
function saying(answer: (task: { readonly from: number; readonly count: number }) => object | undefined): string {
  const file = join(mkdtempSync(join(tmpdir(), 'hapax-campaign-')), 'child.mjs')
  const lines = `createInterface({ input: process.stdin }).on('line', (line) => {
    const answer = (${answer})(JSON.parse(line))
    if (answer !== undefined) console.log(JSON.stringify(answer))
  })`
  writeFileSync(file, `import { createInterface } from 'node:readline'\n${lines}\n`)
  return file
}

test('what has run is taken once, as it grows, and nothing behind a gap', () => {
  const range = newRange(1)
  const block = (from: number) => ({ kind: 'random', from, schedules: 10, busyMs: 1, reached: { a: 1 } }) as const
  range.add(block(11))
  expect(range.taken()).toBeUndefined()
  range.add(block(1))
  range.add(block(31))
  expect(range.taken()).toMatchObject({ from: 1, to: 20, schedules: 20, reached: { a: 2 } })
  expect(range.taken()).toBeUndefined()
  range.add(block(21))
  expect(range.taken()).toMatchObject({ from: 21, to: 40 })
})

const all = { processes: 2, from: 1, schedules: 20_000, minutes: 1 }

describe('a campaign', () => {
  test('keeps what has run, every seed once', async () => {
    const bundle = saying(({ from, count }) => ({
      kind: 'random',
      from,
      schedules: count,
      busyMs: 1_000,
      reached: { a: 1 },
    }))
    const kept: Ran[] = []
    expect(await campaign({ ...all, bundle, keep: (ran) => kept.push(ran) })).toBe(true)
    expect(kept.map(({ schedules }) => schedules).reduce((sum, one) => sum + one)).toBe(20_000)
    expect(kept[0]?.from).toBe(1)
    for (const [index, { from, to, schedules }] of kept.entries()) {
      expect(schedules).toBe(to - from + 1)
      if (index > 0) expect(from).toBe((kept[index - 1]?.to ?? 0) + 1)
    }
    expect(said.join('\n')).toContain('seeds 1 to 20000, 0 violations')
  })

  test.each([
    [
      'runs fewer than it was given',
      saying(({ from }) => ({ kind: 'random', from, schedules: 7, busyMs: 1, reached: {} })),
    ],
    ['says something else', saying(() => ({ kind: 'seed', seed: 1, setting: [], trace: [] }))],
  ])('fails, and keeps nothing, where a process %s', async (_, bundle) => {
    const keep = vi.fn()
    expect(await campaign({ ...all, bundle, keep })).toBe(false)
    expect(keep).not.toHaveBeenCalled()
    expect(said.join('\n')).toMatch(/✗ seeds 1 to 2500: not all of them were run/)
  })

  test('names the seed in which a process ended, and ends', async () => {
    const bundle = saying(({ from, count }) => {
      if (from <= 2_600 && 2_600 < from + count) process.exit(7)
      return { kind: 'random', from, schedules: count, busyMs: 1_000, reached: {} }
    })
    expect(await campaign({ ...all, processes: 1, bundle })).toBe(false)
    expect(said.join('\n')).toContain('✗ seeds 2501 to 5000: The process ended with 7, and did not say what it found.')
    expect(said.join('\n')).toContain('Again: npm run simulate -- --seed 2600')
  })

  test('of which nothing has run in its time is none', async () => {
    const keep = vi.fn()
    expect(await campaign({ ...all, bundle: saying(() => undefined), minutes: 1e-9, keep })).toBe(false)
    expect(keep).not.toHaveBeenCalled()
    expect(said.join('\n')).toContain('no time for a single schedule')
  })

  test('tells of a schedule that fails only behind others, and of those', async () => {
    const edit = {
      file: 'src/http/replies.ts',
      from: 'export function storedReply(',
      to: 'let sent = 0\nexport function storedReply(...given: Parameters<typeof storedReplyOf>) {\n  const reply = storedReplyOf(...given)\n  return ++sent === 700 ? { ...reply, status: 299 } : reply\n}\nfunction storedReplyOf(',
    }
    const bundle = await bundled('outliving', { edits: [edit] })
    const broke = vi.fn<(failed: Extract<Line, { kind: 'failed' }>) => void>()
    expect(await campaign({ ...all, processes: 1, schedules: 2_500, bundle, broke })).toBe(false)
    expect(broke).toHaveBeenCalledOnce()
    expect(said.join('\n')).toMatch(
      /Alone it keeps every promise: it was harmed by what came before it, from seed 1 on\./,
    )
    expect(said.join('\n')).toMatch(/Again: npm run simulate -- --random --from 1 --schedules \d+ --processes 1/)
  })
})

test('a process that is silent for too long is ended, and whoever waits for it is told', async () => {
  const bundle = saying(() => {
    for (;;);
  })
  await expect(simulated(bundle, { kind: 'seed', seed: 1 }, { seconds: 2 })).rejects.toThrow('was silent for 2 s')
})

test('what is put on record is put there by one process at a time, and by the next one when that was killed', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'hapax-record-')), 'on-record')
  const { pid: dead } = spawnSync(process.execPath, ['--version'])
  writeFileSync(file, `${dead}`)
  expect(holdRecord(file)).toBeUndefined()
  expect(holdRecord(file)).toContain(`Process ${process.pid} is putting a run on record already`)
})
