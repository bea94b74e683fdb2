import { readFileSync } from 'node:fs'
import type { EventName, Events } from 'hapax'
import { definitions, type Metric, prometheusName, type Telemetry, telemetry } from 'hapax/telemetry'
import { describe, expect, test } from 'vitest'
import { alerts, recorded } from '../../scripts/telemetry/alerts.mjs'
import type { Measured } from '../../src/engine/measured.js'
import { systemClock } from '../../src/kernel/clock.js'
import { emitter } from '../../src/kernel/events.js'

/**
 * What the checklist says of events, the alerts keep: each event moves a metric, or leaves in the store what a gauge says of it
 * from then on, and a rule asks for that metric. That the store says so is shown by the tests of its measure.
 */

const page = readFileSync(new URL('../../docs/RELIABILITY.md', import.meta.url), 'utf8')
const [, toBeSeen = ''] = page.split('**To be seen**')

/** The events that a line of the checklist names, which ends in these words. */
function namedBefore(words: string): readonly string[] {
  const line = toBeSeen.split('\n').find((one) => one.startsWith('- [ ] ') && one.endsWith(words)) ?? ''
  return [...line.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
}

const wakes = namedBefore('wake somebody.')
const reaches = namedBefore('reach a person.')
const rises = namedBefore('somebody is told when they rise.')
const watched = alerts.flatMap(({ name, severity, expr, watches }) =>
  Object.entries(watches).map(([event, metric]) => ({ name, severity, expr, event, metric })),
)

describe('each event of the checklist is watched by an alert', () => {
  test('there are such events', () => {
    expect([wakes.length, reaches.length, rises.length]).toEqual([4, 4, 3])
  })

  test.each(wakes)('%s wakes somebody', (event) => {
    const rules = watched.filter((one) => one.event === event)
    expect(rules.map(({ severity }) => severity)).toContain('critical')
  })

  test.each([...reaches, ...rises])('%s reaches somebody', (event) => {
    expect(watched.map((one) => one.event)).toContain(event)
  })
})

describe('an alert that watches an event', () => {
  test.each(watched)('$name asks for what $event moves', async ({ expr, event, metric }) => {
    expect(spelledOut(expr)).toMatch(new RegExp(`\\b${prometheusName(definitions[metric])}\\b`))
    expect(await movedBy(toldOf(event))).toContain(metric)
  })
})

test('what an event moves is seen, and nothing else', async () => {
  expect(await movedBy({ of: 'claim_lost', tells: { ...subject, fence: 1 } })).toEqual(['runs'])
  expect(await movedBy({ of: 'store_warned', tells: { check: 'durability', says: 'off' } })).toEqual([])
})

/** A rule with what it takes from a recording rule in the place of its name. */
function spelledOut(expr: string): string {
  return Object.entries(recorded).reduce((spelled, [name, meant]) => spelled.replaceAll(name, meant), expr)
}

/** What is told at once; and what the store says from then on, where a gauge is made of that. */
interface Told {
  readonly of: EventName
  readonly tells: Events[EventName]
  readonly stored?: Partial<Measured>
}

const subject = { scope: 'acme', record: 'f00d', operation: 'payments.create' }
const effect = { ...subject, phase: 'paid', kind: 'receipt.send', effect: 1 }
const doubts = { count: 1, oldestMs: 1_000, leftToOperator: 1 }
const none = { count: 0, oldestMs: 0, leftToOperator: 0 }
const outbox = { waiting: 0, lagMs: 0, unknown: none, dead: 0 }
const nothing: Measured = { keys: 1, inProgress: none, unknown: none, effects: outbox }

const told: readonly Told[] = [
  { of: 'replayed', tells: { ...subject, from: 'store' } },
  { of: 'met_in_progress', tells: { ...subject, reply: 'refused' } },
  { of: 'mismatched', tells: subject },
  { of: 'reservation_failed', tells: { ...subject, errorCode: 'idempotency_store_unavailable' } },
  { of: 'store_failed', tells: { step: 'complete', errorCode: 'idempotency_store_unavailable', cause: undefined } },
  { of: 'circuit_opened', tells: { failures: 5, openMs: 500 } },
  { of: 'ran_unprotected', tells: subject },
  { of: 'doubted', tells: { ...subject, errorCode: 'gateway_timeout' }, stored: { unknown: doubts } },
  { of: 'left_to_operator', tells: { ...subject, errorCode: 'no_lookup' }, stored: { unknown: doubts } },
  { of: 'effect_unresolved', tells: { ...effect, looks: 3 }, stored: { effects: { ...outbox, unknown: doubts } } },
  { of: 'effect_dead', tells: { ...effect, attempt: 3, errorCode: 'x' }, stored: { effects: { ...outbox, dead: 1 } } },
  { of: 'effects_written', tells: { ...subject, count: 1 }, stored: { effects: { ...outbox, lagMs: 1_000 } } },
  { of: 'worker_passed', tells: { worker: 'reaper', did: {}, tookMs: 1 } },
  { of: 'worker_failed', tells: { worker: 'reaper', errorCode: 'store_busy' } },
]

function toldOf(event: string): Told {
  const found = told.find(({ of }) => of === event)
  if (found === undefined) throw new Error(`say here what ${event} tells`)
  return found
}

/** Which metrics are not as they were, once this was told. */
async function movedBy({ of, tells, stored }: Told): Promise<readonly string[]> {
  const events = emitter(() => {})
  let measured = nothing
  const watch = telemetry({ hapax: { events, clock: systemClock, measure: async () => measured }, every: 'off' })
  await watch.sample()
  const before = numbersOf(watch)
  events.emit(of, () => tells)
  measured = { ...nothing, ...stored }
  await watch.sample()
  const after = numbersOf(watch)
  await watch.stop()
  return Object.entries(definitions)
    .filter(([, { name }]) => before[name] !== after[name])
    .map(([id]) => id)
}

/** The values of each metric, all its series added up. */
function numbersOf(watch: Telemetry): Readonly<Record<string, number>> {
  const sum = (metric: Metric) =>
    metric.kind === 'histogram'
      ? metric.series().reduce((all, { count }) => all + count, 0)
      : metric.series().reduce((all, { value }) => all + value, 0)
  return Object.fromEntries(watch.read().map((metric) => [metric.definition.name, sum(metric)]))
}
