import { definitions, type Metric, prometheus, prometheusName, prometheusText, telemetry } from 'hapax/telemetry'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bench } from '../support/bench.js'

/** What a Prometheus is given: checked for its form by promtool in promtool.test.ts, and here for what it says. */

const definition = { name: 'a.b.count', kind: 'counter', unit: '{thing}', help: 'Things.', labels: ['of'] } as const

function textOf(...metrics: readonly Metric[]): string {
  return prometheusText({ read: () => metrics })
}

test('a counter has its help, its type and a line for each set of labels', () => {
  const series = [
    { labels: { of: 'one' }, value: 3 },
    { labels: { of: 'two' }, value: 0 },
  ]
  expect(textOf({ kind: 'counter', definition, series: () => series })).toBe(
    '# HELP a_b_count_total Things.\n# TYPE a_b_count_total counter\n' +
      'a_b_count_total{of="one"} 3\na_b_count_total{of="two"} 0\n',
  )
})

test('whatever a label holds, it stays within its quotes', () => {
  const of = 'a"b\\c\nd} 5\n# evil'
  const text = textOf({ kind: 'counter', definition, series: () => [{ labels: { of }, value: 1 }] })
  expect(text.trimEnd().split('\n').at(-1)).toBe('a_b_count_total{of="a\\"b\\\\c\\nd} 5\\n# evil"} 1')
})

test('a histogram sums its buckets up, and the last holds everything', () => {
  const series = [{ labels: {}, counts: [2, 0, 1, 4], sum: 9.5, count: 7 }]
  const metric: Metric = {
    kind: 'histogram',
    definition: { ...definition, name: 'a.duration', kind: 'histogram', unit: 's' },
    bounds: [0.1, 1, 2.5],
    series: () => series,
    onValue: () => () => {},
  }
  expect(textOf(metric).split('\n').slice(2, -1)).toEqual([
    'a_duration_seconds_bucket{le="0.1"} 2',
    'a_duration_seconds_bucket{le="1"} 2',
    'a_duration_seconds_bucket{le="2.5"} 3',
    'a_duration_seconds_bucket{le="+Inf"} 7',
    'a_duration_seconds_sum 9.5',
    'a_duration_seconds_count 7',
  ])
})

test('what nothing is known of is left out', () => {
  expect(textOf({ kind: 'gauge', definition, series: () => [] })).toBe('')
})

describe('names', () => {
  test.each([
    ['created', 'api_idempotency_reserve_created_count_total'],
    ['runDuration', 'api_idempotency_run_duration_seconds'],
    ['unknownAge', 'api_idempotency_unknown_age_seconds'],
    ['duplicateRatio', 'api_idempotency_duplicate_ratio'],
    ['deadLetters', 'api_idempotency_dead_letter_stored'],
    ['workerLastPass', 'api_idempotency_worker_last_pass_timestamp_seconds'],
  ] as const)('%s is %s', (id, name) => expect(prometheusName(definitions[id])).toBe(name))

  test('no two metrics share one', () => {
    const names = Object.values(definitions).map(prometheusName)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('the page', () => {
  const page = () => {
    const watch = telemetry({ hapax: bench().hapax, every: 'off' })
    onTestFinished(() => watch.stop())
    return prometheus(watch)
  }

  test('is text of the version that every Prometheus reads, and is not kept by anybody', async () => {
    const response = page()(new Request('http://127.0.0.1/metrics'))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.text()).toContain('\napi_idempotency_store_circuit_open 0\n')
  })

  test('says only how it is asked for its head, and changes nothing', async () => {
    const head = page()(new Request('http://127.0.0.1/metrics', { method: 'HEAD' }))
    expect([head.status, await head.text()]).toEqual([200, ''])
    const post = page()(new Request('http://127.0.0.1/metrics', { method: 'POST' }))
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})
