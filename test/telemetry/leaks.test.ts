import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { fastify } from 'fastify'
import { type Engine, effects, engine, eventNames, inbox, type Store, standardWebhooks, workOnce } from 'hapax'
import { guard } from 'hapax/fastify'
import { type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { logEvents, pinoLog, prometheusText, telemetry } from 'hapax/telemetry'
import { openTelemetryMetrics, openTelemetryTracing } from 'hapax/telemetry/opentelemetry'
import { pino } from 'pino'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { acme, coffee, pay } from '../sandbox/payment-client.js'
import { fault, retriedUntil } from '../sandbox/sandbox-client.js'
import { emptyDirectory } from '../sandbox/sandbox-process.js'
import { startSupervised } from '../sandbox/supervised-sandbox.js'
import { faultyStore } from '../support/faulty-store.js'
import { gate } from '../support/waiting.js'

/**
 * A run in which as much goes well and wrong as can, with everything turned on that says something: and nothing of it says a
 * key, a body or a token.
 */

/** What may be said nowhere, each where a client, a provider or a handler has put it. */
const secrets = {
  key: 'SECRET-KEY-8e03978e-40d5-43dd-bc93',
  'personal key': 'secret.person@example.com',
  'malformed key': 'SECRET-KEY-é',
  'body of a request': 'SECRET-BODY-OF-A-REQUEST',
  'body of an answer': 'SECRET-BODY-OF-AN-ANSWER',
  'token of a caller': 'SECRET-TOKEN-OF-A-CALLER',
  'error of a handler': 'SECRET-ERROR-OF-A-HANDLER',
  'error of a provider': 'SECRET-ERROR-OF-A-PROVIDER',
  'payload of an effect': 'SECRET-PAYLOAD-OF-AN-EFFECT',
  'body of a webhook': 'SECRET-BODY-OF-A-WEBHOOK',
  'webhook secret': 'U0VDUkVULU9GLUEtV0VCSE9PSy1XSVRILTI0LUJZVEVT',
} as const

/** Everything that was said, by who said it. */
let output: Readonly<
  Record<'log' | 'console' | 'events' | 'spans' | 'metrics' | 'prometheus' | 'tenants' | 'refusals', string>
>

describe('in a full run', () => {
  beforeAll(async () => {
    output = await fullRun()
  }, 60_000)

  test.each(Object.entries(secrets))('no %s is said', (_, secret) => {
    for (const [who, said] of Object.entries(output)) expect(said.includes(secret), `${who} says it`).toBe(false)
    // As whoever writes it down may have spelled it.
    for (const spelled of [encodeURIComponent(secret), Buffer.from(secret).toString('base64')])
      for (const [who, said] of Object.entries(output)) expect(said.includes(spelled), `${who} spells it`).toBe(false)
  })

  test('all of them spoke, of all that went wrong', () => {
    expect(output.log).toContain('"event":"effect_dead"')
    expect(output.spans).toContain('hapax.outcome')
    expect(output.metrics).toContain('api.idempotency.reserve.created.count')
    expect(output.prometheus).toContain('api_idempotency_reserve_created_count_total')
    expect(output.tenants).toContain('acme')
    for (const code of ['in_progress', 'reused_with_different_payload', 'unknown', 'store_unavailable', 'invalid'])
      expect(output.refusals).toContain(code)
    const told = [...new Set([...output.events.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name))]
    expect(told).toEqual(
      expect.arrayContaining([
        ...['reserved', 'completed', 'replayed', 'mismatched', 'met_in_progress', 'failed', 'resumed', 'doubted'],
        ...['met_unknown', 'settled', 'key_looks_personal', 'store_failed', 'reservation_failed', 'call_failed'],
        ...['effect_dead', 'worker_passed', 'webhook_received', 'webhook_refused', 'webhook_duplicate'],
      ]),
    )
  })
})

async function fullRun(): Promise<typeof output> {
  const said = listening()
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const spans = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
  const kept = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: kept, exportIntervalMillis: 3_600_000 })
  const meter = new MeterProvider({ readers: [reader] }).getMeter('hapax')

  const inner = sqliteStore({ path: join(await emptyDirectory(), 'leaks.db') })
  const { store, breakAt, mend } = faultyStore(inner as unknown as Store)
  const hapax = engine<SqliteTransaction>({
    store: store as unknown as typeof inner,
    log: pinoLog(said.logger),
    tracing: openTelemetryTracing(),
    effects: effects({
      'receipt.send': {
        call: async () => Promise.reject(new Error(secrets['error of a provider'])),
        classify: () => 'answered' as const,
      },
    }),
  })
  await hapax.open()
  logEvents(hapax, said.logger)
  const events: unknown[] = []
  // Its `cause` is for a log of one's own, as the docs say, and is not ours to answer for.
  for (const name of eventNames) hapax.on(name, (event) => events.push({ name, ...event, cause: undefined }))
  const watch = telemetry({ hapax, every: 'off' })
  openTelemetryMetrics(watch, { meter })

  const refusals = [...(await traffic(hapax, { breakAt, mend })), ...(await webhooks(hapax))]
  for (let pass = 0; pass < 3; pass++) await workOnce({ hapax })
  await watch.sample()
  await reader.forceFlush()
  await hapax.close()
  return {
    log: said.lines.join('\n'),
    console: said.stop(),
    events: JSON.stringify(events),
    spans: JSON.stringify(
      spans.getFinishedSpans().map(({ name, attributes, links, status, events }) => ({
        ...{ name, attributes, links, status, events },
      })),
    ),
    metrics: JSON.stringify(kept.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)),
    prometheus: prometheusText(watch),
    tenants: JSON.stringify(watch.tenants()),
    refusals: refusals.join('\n'),
  }
}

/** What a logger writes at its loudest, and whatever goes to the terminal past it. */
function listening() {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(chunk.toString())
      done()
    },
  })
  const terminal: string[] = []
  const spies = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation((...words) => void terminal.push(words.map(String).join(' '))),
  )
  return {
    lines,
    logger: pino({ level: 'trace' }, stream),
    stop() {
      for (const spy of spies) spy.mockRestore()
      return terminal.join('\n')
    },
  }
}

/** Requests over HTTP, as clients send them. Gives what those were told that were refused. */
async function traffic(
  hapax: Engine<SqliteTransaction>,
  { breakAt, mend }: Pick<ReturnType<typeof faultyStore>, 'breakAt' | 'mend'>,
): Promise<readonly string[]> {
  const refusals: string[] = []
  const app = fastify({ forceCloseConnections: true })
  // What is told of an error of its own is the application's affair.
  app.setErrorHandler((_, __, reply) => reply.code(500).send({ code: 'internal' }))
  const held = gate()
  const entered = gate()
  const once = new Set<string>()
  const handler: Parameters<typeof guard<SqliteTransaction>>[2]['handler'] = async (request, reply) => {
    const { does } = request.body as { does: string }
    const isFirst = !once.has(does)
    once.add(does)
    if (does === 'throws' && isFirst) throw new Error(secrets['error of a handler'])
    if (does === 'waits') {
      entered.open()
      await held.opened
    }
    if (does === 'doubts')
      await request.work.call('charge', {
        run: async () => Promise.reject(new Error(secrets['error of a provider'])),
        input: { note: secrets['body of a request'] },
      })
    if (does === 'effect')
      await request.work.transaction('written', ({ effect }) =>
        effect('receipt.send', { note: secrets['payload of an effect'] }),
      )
    return reply.code(201).send({ said: secrets['body of an answer'] })
  }
  app.post('/payments', guard(hapax, { name: 'payments.create', scope: () => 'acme' }, { handler }))
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/payments`
  const send = async (key: string, does: string) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': key,
        authorization: `Bearer ${secrets['token of a caller']}`,
      },
      body: JSON.stringify({ does, note: secrets['body of a request'] }),
    })
    const told = JSON.stringify([response.status, [...response.headers], await response.text()])
    if (!response.ok) refusals.push(told)
  }

  const key = (name: string) => `${secrets.key}-${name}`
  await send(key('runs'), 'runs')
  await send(key('runs'), 'runs')
  await send(key('runs'), 'something else')
  await send(secrets['personal key'], 'runs')
  await send(encodeURIComponent(secrets['malformed key']), 'runs')
  await send('', 'runs')
  await send(key('throws'), 'throws')
  await send(key('throws'), 'throws')
  const waiting = send(key('waits'), 'waits')
  await entered.opened
  await send(key('waits'), 'waits')
  held.open()
  await waiting
  await send(key('effect'), 'effect')
  await send(key('doubts'), 'doubts')
  await send(key('doubts'), 'doubts')
  const call = (await hapax.calls?.list({ limit: 10 }))?.calls.find(({ state }) => state === 'begun')
  const result = { said: secrets['body of an answer'] }
  await hapax.testify({ downstreamKey: call?.key ?? '', says: 'landed', result, by: 'operator:ann', why: 'asked them' })
  breakAt('reserve', 'before')
  for (let attempt = 0; attempt < 8; attempt++) await send(key(`down-${attempt}`), 'runs')
  mend()
  await app.close()
  return refusals
}

async function webhooks(hapax: Engine<SqliteTransaction>): Promise<readonly string[]> {
  const secret = `whsec_${secrets['webhook secret']}`
  const airtm = inbox({
    hapax,
    provider: 'airtm',
    verify: standardWebhooks({ secrets: [secret] }),
    parse: (json) => json as object,
    handle: async () => {},
  })
  const body = Buffer.from(JSON.stringify({ note: secrets['body of a webhook'] }))
  const timestamp = String(Math.floor(Date.now() / 1000))
  const hmac = createHmac('sha256', Buffer.from(secrets['webhook secret'], 'base64'))
  const signature = `v1,${hmac.update(`msg_1.${timestamp}.`).update(body).digest('base64')}`
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp, 'webhook-signature': signature }
  const receipts: string[] = []
  for (const delivery of [body, body, Buffer.from(`${body}!`)])
    receipts.push(JSON.stringify(await airtm.receive({ headers, body: delivery })))
  return receipts
}

test('the sandbox says nothing of it either: not where it prints, not in its metrics, not to those whom it refuses', {
  timeout: 90_000,
}, async () => {
  const sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
  const key = `${secrets.key}-paid`
  const note = { ...coffee, description: secrets['body of a request'] }
  const answers = [
    await pay(sandbox, { key, body: note }),
    await pay(sandbox, { key, body: { ...note, amountCents: 1 } }),
    await pay(sandbox, { key: secrets['personal key'], body: { amountCents: secrets['body of a request'] } }),
    await pay(sandbox, { key: `"${secrets.key}`, body: note }),
    await pay(sandbox, { key, body: note, tenant: { authorization: `Bearer ${secrets['token of a caller']}` } }),
  ]
  await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'timeout_after_effect' })
  answers.push(await pay(sandbox, { key: `${secrets.key}-doubted`, body: note }))
  await retriedUntil(201, () => pay(sandbox, { key: `${secrets.key}-doubted`, body: note }))
  const metrics = await (await fetch(`${sandbox.url}/metrics`)).text()
  expect(metrics).toContain('api_idempotency_reserve_key_misuse_count_total')
  const refusals = answers.filter(({ status }) => status >= 400)
  expect(refusals.length).toBe(5)
  await sandbox.stop('SIGTERM')
  const { stdout, stderr } = sandbox.printed
  for (const secret of Object.values(secrets))
    for (const said of [stdout, stderr, metrics, ...refusals.map(({ text }) => text)])
      expect(said).not.toContain(secret)
  // Its own tokens are known to everybody: a request without one is told of them.
  for (const said of [stdout, stderr, metrics]) expect(said).not.toContain(acme.authorization.replace('Bearer ', ''))
})

test('what looks for it would find it', () => {
  const { lines, logger, stop } = listening()
  onTestFinished(() => void stop())
  logger.debug({ key: secrets.key }, 'oh')
  expect(lines.join('\n').includes(secrets.key)).toBe(true)
})
