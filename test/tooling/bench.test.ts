import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { aims, judged } from '../../bench/aims.js'
import { benches } from '../../bench/benches.js'
import { closedLoop, openLoop } from '../../bench/harness/loops.mjs'
import { onRecord, type Result } from '../../bench/harness/results.js'
import { plainTable, type Table } from '../../bench/harness/table.js'
import { ratioOf, takeTurns, usual } from '../../bench/harness/turns.js'
import { helpOf, usage } from '../../bench/help.js'
import { casesOf, labelOf, sitesOf, sizes, turnsOf } from '../../bench/http/cases.js'
import { drawn } from '../../bench/report/chart.js'
import { withFigures } from '../../bench/report/page.js'
import { filesOf, lastResults, strayCharts } from '../../bench/report/report.js'
import { root } from '../../scripts/root.mjs'

const table: Table = {
  title: 'Pairs',
  columns: ['callers', 'who', 'per second'],
  rows: [
    ['1', 'Hapax', 1_250],
    ['1', 'others <more>', 500],
    ['256', 'Hapax', '–'],
  ],
  chart: { name: 'pairs', group: 'callers', series: 'who', value: 'per second', others: ['others <more>'] },
}

const result: Result = {
  bench: 'memory',
  ratios: { 'postgres KB': 4.5 },
  tables: [table],
  versions: { PostgreSQL: '15.1' },
  remarks: ['Nobody else was there.'],
  aims: [],
  command: 'npm run bench -- memory --rounds 3',
  date: '2030-01-02 03:04',
  commit: 'abcdef0123',
  node: 'v20.19.0',
  cores: 2,
  processor: 'Z80',
  memoryGb: 4,
  busyBefore: 0.02,
  busyMeanwhile: 0.03,
  load: 0.1,
}

describe('docs/PERFORMANCE.md', () => {
  const files = filesOf(lastResults())

  test.each([...files.keys()])('%s says what is on record: npm run bench -- report writes it', (file) => {
    expect(readFileSync(`${root}/${file}`, 'utf8')).toBe(files.get(file))
  })

  test('has no chart that no result on record draws', () => {
    expect(strayCharts(files)).toEqual([])
  })

  test('types in no figure by hand: outside of what is written from results there is none', () => {
    const [before, , after] = readFileSync(`${root}/docs/PERFORMANCE.md`, 'utf8').split(
      /<!-- (?:figures|end of figures) -->\n/,
    )
    expect(`${before}${after}`).not.toMatch(/\d/)
  })

  test('says of a bench without a result that it is not yet measured, and of its aims too', () => {
    const page = withFigures('<!-- figures -->\n<!-- end of figures -->\n', new Map())
    expect(page.match(/not yet measured\.$/gm)).toHaveLength(benches.length)
    expect(page.match(/\| not yet measured \|/g)).toHaveLength(aims.length)
  })

  test('has the table, the chart, the command and the circumstances of a result, and whether its aim is reached', () => {
    const page = withFigures('a\n<!-- figures -->\nold\n<!-- end of figures -->\nz\n', new Map([['memory', result]]))
    expect(page).toContain('| 1 | Hapax | 1,250 |')
    expect(page).toContain('![Pairs: per second](performance/pairs.svg)')
    expect(page).toContain('`npm run bench -- memory --rounds 3`')
    expect(page).toContain(
      '2030-01-02 03:04 UTC at commit abcdef0123; 2 × Z80, 4 GB, 2 % busy before, at most 3 % by others meanwhile',
    )
    expect(page).toContain('| ≤ 4 | 4.5 | not reached | [memory](#memory) |')
    expect(page).toContain('- Nobody else was there.')
    expect(page).not.toContain('old')
  })
})

test('no result on record names a folder or a host of the machine that it was measured on', () => {
  for (const { name } of benches)
    for (const one of onRecord(name))
      expect(JSON.stringify(one)).not.toMatch(/\/(tmp|home|work|root|Users)\/|localhost/)
})

test('a chart has a bar for each number, as long as it is great, and text that cannot be taken for markup', () => {
  const svg = drawn(table)
  const bars = [...svg.matchAll(/<rect class="(bar[^"]*)"[^>]* width="(\d+)"/g)].map(([, kind, width]) => [kind, width])
  expect(bars).toEqual([
    ['bar own', '420'],
    ['bar', '168'],
  ])
  expect(svg).toContain('others &lt;more&gt;')
  expect(svg).toContain('callers: 256')
})

test('a table for people has its columns one below the other', () => {
  expect(plainTable(table).split('\n')).toEqual([
    'Pairs',
    '  callers   who             per second',
    '  1         Hapax                1,250',
    '  1         others <more>          500',
    '  256       Hapax                    –',
  ])
})

describe('those who are compared', () => {
  test('take turns, in the other order every second round, and nothing is kept of the first', async () => {
    const order: string[] = []
    const contestant = (name: string) => ({ name, turn: async () => order.push(name) })
    const series = await takeTurns([contestant('a'), contestant('b')], { rounds: 2, say: () => undefined })
    expect(order).toEqual(['a', 'b', 'b', 'a', 'a', 'b'])
    expect([...series]).toEqual([
      ['a', [4, 5]],
      ['b', [3, 6]],
    ])
  })

  test('are compared with their neighbours in a round: a machine that drifts changes nothing', () => {
    const series = new Map([
      ['a', [20, 200, 2_000]],
      ['b', [10, 100, 1_000]],
    ])
    expect(ratioOf(series, ['a', 'b'], (taken) => taken)).toBe(2)
    expect(usual(series, 'a', (taken) => taken)).toBe(200)
  })
})

describe('an aim', () => {
  test('is about a bench that there is', () => {
    const names = benches.map(({ name }) => name)
    for (const { bench } of aims) expect(names).toContain(bench)
  })

  test('is reached on its bound, and not measured where somebody could not take part', () => {
    const verdicts = (ratios: Record<string, number>) => judged('peers', ratios).map(({ verdict }) => verdict)
    expect(verdicts({ 'hapax / DBOS': 20, 'hapax / Restate': 9.99 })).toEqual([
      'not measured',
      'reached',
      'not reached',
    ])
    expect(judged('memory', { 'postgres KB': 4 })[0]?.verdict).toBe('reached')
    expect(judged('memory', { 'postgres KB': 4.01 })[0]?.verdict).toBe('not reached')
  })
})

describe('the matrix of http', () => {
  const cases = sizes.flatMap(casesOf)
  const labels = cases.map(labelOf)

  test('has every kind of key, size and number of callers', () => {
    expect(new Set(labels).size).toBe(27)
    expect(labels).toEqual(expect.arrayContaining(['new@1', 'replays@64 2 KB', 'conflicts@256 20 KB']))
  })

  test('gives all turns to what an aim is about, and fewer and shorter ones to the others', () => {
    const full = cases.filter((one) => turnsOf(one, { rounds: 5, seconds: 1 }).seconds === 1)
    expect(full.map(labelOf)).toEqual(['new@256', 'replays@64'])
    expect(turnsOf({ keys: 'new', callers: 1, bodyBytes: 200 }, { rounds: 5, seconds: 1 })).toEqual({
      rounds: 3,
      seconds: 0.5,
    })
  })

  test('measures everybody that its aims are about, and once what other settings cost', () => {
    for (const one of cases) expect(sitesOf(one)).toEqual(expect.arrayContaining(['bare', 'postgres']))
    const others = cases.flatMap((one) =>
      sitesOf(one)
        .slice(4)
        .map((site) => `${labelOf(one)} ${site}`),
    )
    expect(others).toEqual(['new@1 pooler', 'new@256 pooler', 'replays@64 uncached'])
  })
})

describe('the help', () => {
  test('of all says what is installed where it is missing: packages of Debian, and those of npm with their versions', () => {
    const help = usage(benches)
    for (const installed of ['apt-get install postgresql', 'apt-get install redis-server', '@dbos-inc/dbos-sdk 5'])
      expect(help).toContain(installed)
  })

  test('of one says what it installs, and of one that needs nothing more it says that', () => {
    const help = new Map(benches.map((bench) => [bench.name, helpOf(bench)]))
    expect(help.get('peers')).toContain('@restatedev/restate-server')
    expect(help.get('hostile')).not.toContain('PostgreSQL')
  })
})

describe('callers', () => {
  test('with a rate of their own charge whoever holds up the sender for those that were due meanwhile', async () => {
    let isFirst = true
    const holdingUp = async () => {
      if (!isFirst) return
      isFirst = false
      const until = performance.now() + 200
      while (performance.now() < until);
    }
    const { p50Ms, unserved } = await openLoop(holdingUp, { rate: 1_000, seconds: 0.2 })
    // Half of them were due in the first half of the time that nobody could send in.
    expect(p50Ms).toBeGreaterThan(90)
    expect(unserved).toBe(0)
  })

  test('count those that were refused as never served', async () => {
    const refusing = (_: string, number: number) =>
      number % 10 === 0 ? Promise.reject(new Error()) : Promise.resolve()
    const load = await openLoop(refusing, { rate: 1_000, seconds: 0.1 })
    expect(load).toMatchObject({ unserved: 10, p99Ms: null, p50Ms: expect.any(Number) })
  })

  test('that wait for their answer are never more at once than was asked for', async () => {
    let now = 0
    let most = 0
    const keys = new Set<string>()
    await closedLoop(
      async (key) => {
        keys.add(key)
        now += 1
        most = Math.max(most, now)
        await new Promise((resolve) => setImmediate(resolve))
        now -= 1
      },
      { concurrency: 7, seconds: 0.02 },
    )
    expect(most).toBe(7)
    expect(keys.size).toBeGreaterThanOrEqual(7)
  })
})
