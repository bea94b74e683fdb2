import { context, metrics, type Span, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { fastify } from 'fastify'
import { engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { definitions, telemetry } from 'hapax/telemetry'
import { openTelemetryMetrics, openTelemetryTracing } from 'hapax/telemetry/opentelemetry'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'
import { insertRide, request, workBench } from '../support/work-bench.js'

/** What a real SDK of OpenTelemetry is given. */

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
trace.setGlobalTracerProvider(provider)
const application = trace.getTracer('application')

afterEach(() => exporter.reset())

const spansOf = (name: string): readonly ReadableSpan[] =>
  exporter.getFinishedSpans().filter((span) => span.name === name)
const place = (span: ReadableSpan | undefined) => [span?.spanContext().traceId, span?.spanContext().spanId]
const linkedTo = (span: ReadableSpan | undefined) => span?.links.map(({ context: to }) => [to.traceId, to.spanId])
const eventsOn = (span: ReadableSpan | undefined) => span?.events.map(({ name }) => name)

/** Something in a span of the application's. */
function inSpan<T>(name: string, body: (span: Span) => Promise<T>): Promise<T> {
  return application.startActiveSpan(name, (span) => body(span).finally(() => span.end()))
}

describe('a guarded request', () => {
  test('stands below the request of the server, and what its handler does stands below it', async () => {
    const { hapax, policy } = await workBench({ tracing: openTelemetryTracing() })
    await inSpan('POST /rides', () => hapax.run({ ...request, policy }, () => inSpan('charge', async () => 'paid')))
    const [server, ours, charge] = ['POST /rides', 'hapax rides.create', 'charge'].map((name) => spansOf(name)[0])
    expect(ours?.parentSpanContext?.spanId).toBe(server?.spanContext().spanId)
    expect(charge?.parentSpanContext?.spanId).toBe(ours?.spanContext().spanId)
    expect(ours?.attributes).toEqual({
      'hapax.operation': 'rides.create',
      'hapax.kind': 'request',
      'hapax.outcome': 'ran',
      'hapax.status': 200,
      'hapax.generation': 1,
      'hapax.record': expect.stringMatching(/^[0-9a-f]{32}$/),
    })
  })

  test('has a mark for each phase, whatever spans the handler has begun around it', async () => {
    const { hapax, policy } = await workBench({ tracing: openTelemetryTracing() })
    await hapax.run({ ...request, policy }, async (work) => {
      await inSpan('inner', () => work.transaction('ride_created', ({ tx }) => insertRide(tx, 'a')))
      await work.call('charge_created', { run: async () => 'ch_1' })
      return 'paid'
    })
    const [ours] = spansOf('hapax rides.create')
    const marks = ['hapax.reserved', 'hapax.phase_committed', 'hapax.phase_committed', 'hapax.call_landed']
    expect(eventsOn(ours)).toEqual(marks)
    expect(ours?.events[1]?.attributes).toEqual({ 'hapax.phase': 'ride_created' })
    expect(eventsOn(spansOf('inner')[0])).toEqual([])
  })

  test('that threw is marked as an error, without a word of it', async () => {
    const { hapax, policy } = await workBench({ tracing: openTelemetryTracing() })
    const failing = hapax.run({ ...request, policy }, async () => Promise.reject(new TypeError('card 4242 refused')))
    await expect(failing).rejects.toThrow('4242')
    const [ours] = spansOf('hapax rides.create')
    expect(ours?.status).toEqual({ code: SpanStatusCode.ERROR })
    expect(ours?.attributes).toMatchObject({ 'hapax.outcome': 'threw', 'hapax.error_code': 'TypeError' })
    expect(eventsOn(ours)).toEqual(['hapax.reserved', 'hapax.failed'])
  })

  test('that was refused says why', async () => {
    const { hapax, policy } = await workBench({ tracing: openTelemetryTracing() })
    await hapax.run({ ...request, policy }, async () => 'paid')
    await hapax.run({ ...request, policy, input: 'another' }, async () => 'paid').catch(() => undefined)
    expect(spansOf('hapax rides.create')[1]?.attributes).toMatchObject({
      'hapax.outcome': 'refused',
      'hapax.error_code': 'idempotency_key_reused_with_different_payload',
    })
  })

  test('of many that a server reads at once, each stands below its own', async () => {
    const hapax = engine({ store: memoryStore(), tracing: openTelemetryTracing() })
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(async () => {
      await app.close()
      await hapax.close()
    })
    app.addHook('onRequest', (request, reply, done) => {
      const span = application.startSpan(`server ${request.headers['idempotency-key']}`)
      reply.raw.on('close', () => span.end())
      context.with(trace.setSpan(context.active(), span), done)
    })
    const handler = async () => inSpan('handler', async () => ({ id: 1 }))
    app.post('/orders', guard(hapax, { name: 'orders.create', scope: () => 'acme' }, { handler }))
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/orders`
    const keys = Array.from({ length: 20 }, (_, index) => `key-number-${index}`)
    await Promise.all(keys.map((key) => fetch(url, { method: 'POST', headers: { 'idempotency-key': key } })))
    const servers = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('server '))
    const parents = spansOf('hapax orders.create').map((span) => span.parentSpanContext?.spanId)
    expect(new Set(parents)).toEqual(new Set(servers.map((span) => span.spanContext().spanId)))
    expect(parents.length).toBe(20)
  })
})

describe('a replay', () => {
  test('is linked to the run that made its answer, in another trace and on another node', async () => {
    const given = await workBench({ tracing: openTelemetryTracing() })
    const ask = (hapax: typeof given.hapax) =>
      inSpan('POST /rides', () => hapax.run({ ...request, policy: given.policy }, async () => 'paid'))
    await ask(given.hapax)
    await ask(given.node())
    const [first, replay] = spansOf('hapax rides.create')
    expect(replay?.attributes['hapax.outcome']).toBe('replayed')
    expect(linkedTo(replay)).toEqual([place(first)])
    expect(replay?.spanContext().traceId).not.toBe(first?.spanContext().traceId)
    expect((await given.record())?.trace).toBe(`00-${place(first).join('-')}-01`)
    expect(linkedTo(first)).toEqual([])
  })

  test('of one that waited for the first is linked to it as well', async () => {
    const { hapax } = await workBench({ tracing: openTelemetryTracing() })
    const policy = hapax.policy({ name: 'rides.create', concurrency: 'wait' })
    const running = gate<string>()
    const both = [1, 2].map(() => hapax.run({ ...request, policy }, () => running.opened))
    running.open('paid')
    await Promise.all(both)
    const spans = spansOf('hapax rides.create')
    const [ran, waited] = ['ran', 'replayed'].map((how) =>
      spans.find((span) => span.attributes['hapax.outcome'] === how),
    )
    expect(linkedTo(waited)).toEqual([place(ran)])
  })

  test('of an answer that one transaction made is linked to it, too', async () => {
    const { hapax } = await workBench({ tracing: openTelemetryTracing() })
    const policy = hapax.policy({ name: 'rides.create', mode: 'transaction' })
    for (const _ of [1, 2])
      await hapax.run({ ...request, policy }, async (work) => work.commit(({ tx }) => insertRide(tx, 'a')))
    const [first, replay] = spansOf('hapax rides.create')
    expect(linkedTo(replay)).toEqual([place(first)])
  })

  test('of what was not traced is linked to nothing', async () => {
    const given = await workBench()
    await given.hapax.run({ ...request, policy: given.policy }, async () => 'paid')
    const traced = given.node({ tracing: openTelemetryTracing() })
    await traced.run({ ...request, policy: given.policy }, async () => 'paid')
    expect(linkedTo(spansOf('hapax rides.create')[0])).toEqual([])
  })
})

test('a worker that goes on has a trace of its own, linked to the run before', async () => {
  const { hapax, travel, record } = await workBench({ tracing: openTelemetryTracing() })
  let isDown = true
  const ride = hapax.operation('rides.create', { version: 1 }, async () => {
    if (isDown) throw new Error('not now')
    return 'made'
  })
  await hapax.perform({ scope: 'acme', key: 'k', operation: ride, input: {} }).catch(() => undefined)
  isDown = false
  await travel(60_000)
  await inSpan('whatever woke it', () => hapax.chores.resume(10))
  const [first, second] = spansOf('hapax rides.create')
  expect(second?.attributes).toMatchObject({ 'hapax.kind': 'resumption', 'hapax.outcome': 'ran' })
  expect([second?.parentSpanContext, linkedTo(second)]).toEqual([undefined, [place(first)]])
  expect((await record())?.trace).toBe(`00-${place(second).join('-')}-01`)
})

describe('nothing is kept of a trace', () => {
  test('that nobody will see', async () => {
    const unseen = new BasicTracerProvider({ sampler: new AlwaysOffSampler() }).getTracer('hapax')
    const { hapax, policy, record } = await workBench({ tracing: openTelemetryTracing({ tracer: unseen }) })
    await hapax.run({ ...request, policy }, async () => 'paid')
    expect((await record())?.trace).toBeUndefined()
  })

  test('where the engine was given none, though an SDK is there', async () => {
    const { hapax, policy, record } = await workBench()
    await inSpan('POST /rides', () => hapax.run({ ...request, policy }, async () => 'paid'))
    expect((await record())?.trace).toBeUndefined()
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['POST /rides'])
  })
})

describe('metrics', () => {
  const all = Object.values(definitions)
  /** What the SDK collects, by name and labels. */
  function collected(temporality: AggregationTemporality) {
    const kept = new InMemoryMetricExporter(temporality)
    const reader = new PeriodicExportingMetricReader({ exporter: kept, exportIntervalMillis: 3_600_000 })
    const meters = new MeterProvider({ readers: [reader] })
    onTestFinished(() => meters.shutdown())
    const { hapax, ...given } = bench()
    const watch = telemetry({ hapax, every: 'off' })
    const stop = openTelemetryMetrics(watch, { meter: meters.getMeter('hapax') })
    const collect = async () => {
      kept.reset()
      await reader.forceFlush()
      return kept.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics: found }) => found))
    }
    const value = async (name: string) =>
      (await collect()).find(({ descriptor }) => descriptor.name === name)?.dataPoints[0]?.value
    return { hapax, ...given, watch, stop, collect, value }
  }

  test('have the names, units and kinds of the list, and no others', async () => {
    const { hapax, policy, collect, watch } = collected(AggregationTemporality.CUMULATIVE)
    await hapax.run({ ...request, policy: policy() }, async () => 'paid')
    await watch.sample()
    const found = await collect()
    const known = new Map<string, string>(all.map(({ name, unit }) => [name, unit]))
    expect(found.length).toBeGreaterThan(20)
    for (const { descriptor } of found) expect(descriptor.unit, descriptor.name).toBe(known.get(descriptor.name))
    const published = all.slice(0, 12).map(({ name }) => name)
    expect(found.map(({ descriptor }) => descriptor.name)).toEqual(expect.arrayContaining(published))
  })

  test('rise with what happens, from one collection to the next', async () => {
    const { hapax, policy, value, stop } = collected(AggregationTemporality.DELTA)
    const created = 'api.idempotency.reserve.created.count'
    const run = (key: string) => hapax.run({ ...request, key, policy: policy() }, async () => 'paid')
    await run('k-1')
    await run('k-2')
    expect(await value(created)).toBe(2)
    await run('k-3')
    expect(await value(created)).toBe(1)
    stop()
    await run('k-4')
    expect(await value(created)).toBeUndefined()
  })

  test('have durations as histograms with the bounds of the list', async () => {
    const { hapax, policy, value, clock } = collected(AggregationTemporality.CUMULATIVE)
    await hapax.run({ ...request, policy: policy() }, async () => clock.advance(30))
    expect(await value('api.idempotency.run.duration')).toMatchObject({
      count: 1,
      sum: 0.03,
      buckets: { boundaries: expect.arrayContaining([0.001, 0.05, 60]) },
    })
  })

  test('cost nobody anything where there is no SDK', async () => {
    metrics.disable()
    const { hapax, policy } = bench()
    const watch = telemetry({ hapax, every: 'off' })
    const stop = openTelemetryMetrics(watch)
    await hapax.run({ ...request, policy: policy() }, async () => 'paid')
    stop()
    await watch.stop()
  })
})
