import {
  agree,
  type LedgerEntry,
  type LedgerReport,
  type LedgerSource,
  startWorkers,
  type Window,
  workerNames,
  workOnce,
} from 'hapax'
import { expect, onTestFinished, test } from 'vitest'
import { workerBounds } from '../../src/kernel/limits.js'
import { type Bench, bench } from '../support/bench.js'

/** Ledgers that a worker compares by itself, on a clock that stands until it is moved. */

const hour = 60 * 60_000
const day = 24 * hour
const settle = workerBounds.ledgerSettleMs

/** The others look every few seconds, which in a day is often. */
const alone = Object.fromEntries(workerNames.map((name) => [name, 'off'] as const))

function comparing({ hapax }: Bench, entries: (window: Window) => readonly LedgerEntry[]) {
  const reports: LedgerReport[] = []
  const providers = { card: { entries, onReport: (report: LedgerReport) => void reports.push(report) } }
  return { reports, options: { hapax, ...alone, ledger: { providers } } }
}

test('the ledgers of providers are read when it starts and at least daily, each window from where the last has ended', async () => {
  const bed = bench()
  const windows: Window[] = []
  const { options } = comparing(bed, (window) => {
    windows.push(window)
    return []
  })
  const workers = startWorkers(options)
  onTestFinished(() => void workers.stop())
  await bed.clock.advance(1)
  expect(windows).toHaveLength(1)
  for (let passed = 0; passed < 2; passed++) await bed.clock.advance(day)
  expect(windows.length).toBeGreaterThanOrEqual(3)
  // Each is read from an hour before what is judged up to now.
  for (const [index, { since, until }] of windows.entries()) {
    expect(since + settle).toBe(index === 0 ? until - settle - day : (windows[index - 1]?.until ?? 0) - settle)
    expect(until).toBeLessThanOrEqual(bed.clock.now())
  }
})

test('what the provider has and we do not is an event, a line of the log and a report', async () => {
  const bed = bench()
  const told: unknown[] = []
  bed.hapax.on('ledger_compared', (event) => told.push(event))
  const { options, reports } = comparing(bed, ({ since }) => [{ key: 'nobody knows', at: since + settle }])
  const done = await workOnce(options)
  expect(done.at(-1)).toEqual({ name: 'ledger', did: { differed: 1 } })
  expect(told).toMatchObject([{ provider: 'card', compared: 0, orphans: 1, missing: 0 }])
  expect(reports.map(({ orphans }) => orphans.count)).toEqual([1])
  const differs = bed.logged.filter(({ code }) => code === 'ledger_differs')
  expect(differs.map(({ message }) => message)).toEqual([expect.stringContaining('1 orphans')])
})

/** A provider whose ledger is read in a way of the test's own, and the windows that were asked for. */
function source(read: () => readonly LedgerEntry[] = () => []) {
  const windows: Window[] = []
  const entries = (window: Window) => {
    windows.push(window)
    return read()
  }
  return { windows, entries }
}

function started({ hapax }: Bench, providers: Readonly<Record<string, LedgerSource>>) {
  const workers = startWorkers({ hapax, ...alone, ledger: { providers } })
  onTestFinished(() => void workers.stop())
}

test('a ledger that cannot be read keeps no other from being compared, and is read further back the next time', async () => {
  const bed = bench()
  let isDown = true
  const broken = source(() => {
    if (isDown) throw new Error('the export is not there yet')
    return []
  })
  const sound = source()
  started(bed, { broken, sound })
  await bed.clock.advance(1)
  expect([broken.windows.length, sound.windows.length]).toEqual([1, 1])
  expect(bed.events).toContain('worker_failed')
  await bed.clock.advance(2 * day)
  isDown = false
  await bed.clock.advance(2 * 60_000)
  const [first, last] = [broken.windows[0], broken.windows.at(-1)]
  expect(last?.since).toBe(first?.since)
  expect((last?.until ?? 0) - (first?.until ?? 0)).toBeGreaterThan(2 * day)
})

test('one that fails is tried again soon, and those that were compared are not read for that', async () => {
  const bed = bench()
  const broken = source(() => {
    throw new Error('out')
  })
  const sound = source()
  started(bed, { broken, sound })
  await bed.clock.advance(11 * hour)
  expect(broken.windows.length).toBeGreaterThan(600)
  expect(sound.windows).toHaveLength(1)
  await bed.clock.advance(13 * hour)
  expect(sound.windows.length).toBeGreaterThanOrEqual(2)
})

test('of several that fail each is told', async () => {
  const bed = bench()
  const out = (why: string) =>
    source(() => {
      throw new Error(why)
    })
  const done = await workOnce({
    hapax: bed.hapax,
    ...alone,
    ledger: { providers: { card: out('no file'), bank: out('no line') } },
  })
  expect(done).toMatchObject([{ name: 'ledger', error: { message: 'no file' } }])
  const told = bed.logged.filter(({ code }) => code === 'ledger_failed').map(({ message }) => message)
  expect(told).toEqual([expect.stringMatching(/of card .*no file/), expect.stringMatching(/of bank .*no line/)])
})

test('a report that nobody took is made again, of the same window', async () => {
  const bed = bench()
  const card = source()
  let asked = 0
  const onReport = () => {
    if (++asked === 1) throw new Error('the pager is out')
  }
  started(bed, { card: { ...card, onReport } })
  await bed.clock.advance(1)
  await bed.clock.advance(60_000)
  expect(asked).toBe(2)
  expect(card.windows[1]?.since).toBe(card.windows[0]?.since)
})

test.each([
  ['does not come', () => new Promise<never>(() => {})],
  [
    'stops in the middle',
    async function* () {
      yield { key: 'one' }
      await new Promise(() => {})
    },
  ],
])('a ledger that %s is given up after a while, and the next is read', async (_how, entries) => {
  const bed = bench()
  const sound = source()
  started(bed, { silent: { entries }, sound })
  await bed.clock.advance(workerBounds.ledgerReadMs - 1)
  expect(sound.windows).toHaveLength(0)
  await bed.clock.advance(2)
  expect(sound.windows).toHaveLength(1)
  expect(bed.logged.map(({ message }) => message)).toContainEqual(expect.stringContaining('not read within 10 minutes'))
})

test('a window with more than can be held is compared in parts, from its beginning and without a gap', async () => {
  const bed = bench()
  const windows: Window[] = []
  const reports: LedgerReport[] = []
  function* entries(window: Window) {
    windows.push(window)
    const isLong = window.until - window.since > 15 * hour
    for (let n = 0; n <= (isLong ? workerBounds.ledgerEntries : 0); n++)
      yield { key: String(n), at: window.since + settle }
  }
  started(bed, { card: { entries, onReport: (report) => void reports.push(report) } })
  await bed.clock.advance(1)
  const [whole, first, second] = windows
  expect(windows).toHaveLength(3)
  expect(first).toEqual({ since: whole?.since, until: (whole?.until ?? 0) - day / 2 })
  expect((second?.since ?? 0) + settle).toBe((first?.until ?? 0) - settle)
  expect(second?.until).toBeGreaterThanOrEqual(whole?.until ?? 0)
  expect(reports.map(({ orphans }) => orphans.count)).toEqual([1, 1])
}, 30_000)

test('what the provider did on the other side of an edge is no difference, in neither window', async () => {
  const bed = bench()
  const lines: LedgerEntry[] = []
  const reports: LedgerReport[] = []
  const entries = ({ since, until }: Window) => lines.filter(({ at = 0 }) => at >= since && at < until)
  const edge = bed.clock.now() - settle
  const called = [{ key: 'a', begunAt: edge - 1 }].map((one) => ({ ...one, ...landed }))
  const calls = {
    list: async ({ since = 0, until = Number.POSITIVE_INFINITY }) => ({
      calls: called.filter(({ begunAt }) => begunAt >= since && begunAt < until),
      next: undefined,
    }),
    named: async (keys: readonly string[]) => called.filter(({ key }) => keys.includes(key)),
  }
  lines.push({ key: 'a', at: edge + 1 })
  const hapax = { ...bed.hapax, calls } as never
  started({ ...bed, hapax }, { card: { entries, onReport: (report) => void reports.push(report) } })
  await bed.clock.advance(1)
  await bed.clock.advance(day)
  expect(reports.slice(0, 2).map((report) => [agree(report), report.compared])).toEqual([
    [true, { provider: 1, ours: 1 }],
    [true, { provider: 1, ours: 1 }],
  ])
})

test('a ledger is read from the first try of an effect that was done since, and three days back at most', async () => {
  const bed = bench()
  const since = bed.clock.now() - settle - day
  const readSince = async (firstStartedAt: number) => {
    const effects = [{ downstreamKey: 'a', state: 'done', firstStartedAt, finishedAt: since + 1 }]
    const outbox = { done: async () => ({ effects }), list: async () => ({ effects: [] }), named: async () => [] }
    const card = source()
    const hapax = { ...bed.hapax, outbox } as never
    await workOnce({ hapax, ...alone, ledger: { providers: { card } } })
    return (card.windows[0]?.since ?? 0) + settle
  }
  expect(await readSince(since + 1)).toBe(since)
  expect(await readSince(since - 5 * hour)).toBe(since - 5 * hour)
  expect(await readSince(since - 9 * day)).toBe(since - workerBounds.ledgerReachMs)
})

const landed = {
  id: 1,
  scope: 'acme',
  operation: 'rides.create',
  generation: 1,
  phase: 'charged',
  state: 'landed',
} as const

test.each([
  [{ providers: {} }, /providers is empty/],
  [{ providers: { card: {} } }, /needs entries/],
  [{ providers: { card: { entries: () => [] } }, evry: '1h' }, /evry is not an option/],
])('options that say nothing useful are refused: %j', (ledger, message) => {
  expect(() => startWorkers({ hapax: bench().hapax, ledger: ledger as never })).toThrow(message)
})
