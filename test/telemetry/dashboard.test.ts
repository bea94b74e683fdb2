import { afterAll, beforeAll, expect, test } from 'vitest'
import { addRoutes } from '../../examples/sandbox/src/routes.js'
import { closeSandbox, openSandbox } from '../../examples/sandbox/src/sandbox.js'
import { settingsFrom } from '../../examples/sandbox/src/settings.js'
import { webApp } from '../../examples/sandbox/src/web/web-app.js'
import { dashboard } from '../../scripts/telemetry/dashboard.mjs'
import { topup } from '../sandbox/marketplace-client.js'
import { coffee, pay } from '../sandbox/payment-client.js'
import { fault, postJson, retriedUntil, trip } from '../sandbox/sandbox-client.js'
import { emptyDirectory, type SandboxProcess } from '../sandbox/sandbox-process.js'
import { startSupervised } from '../sandbox/supervised-sandbox.js'
import { onPrometheus, type Prometheus, promtool, startPrometheus } from '../support/prometheus.js'
import { until } from '../support/waiting.js'

/** The sandbox, scraped by a real Prometheus: every query of the dashboard has something to show. */

const queries = dashboard().panels.flatMap((panel) =>
  'targets' in panel ? panel.targets.map(({ expr, legendFormat }) => [panel.title, legendFormat, expr] as const) : [],
)

/** As Grafana puts them in, with all operations chosen. */
const asked = (expr: string) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$operation', '.*')

onPrometheus('a Prometheus that scrapes the sandbox', () => {
  let sandbox: SandboxProcess
  let prometheus: Prometheus

  beforeAll(async () => {
    sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
    prometheus = await startPrometheus(`${sandbox.url}/metrics`)
    await pay(sandbox, { key: 'k-1' })
    await pay(sandbox, { key: 'k-1' })
    await pay(sandbox, { key: 'k-1', body: { ...coffee, amountCents: 1 } })
    await postJson(sandbox, '/rides', trip)
    // Its provider tells of it by a webhook.
    await postJson(sandbox, '/topups', topup)
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'timeout_after_effect' })
    await pay(sandbox, { key: 'k-2' })
    await retriedUntil(201, () => pay(sandbox, { key: 'k-2' }))
  }, 90_000)

  afterAll(() => prometheus?.stop())

  test.each(queries)('has a series for %s: %s', async (_, __, expr) => {
    // What came before the first scrape is no rate, so that somebody goes on asking.
    const queried = async () => {
      await pay(sandbox, { key: 'k-1' })
      return prometheus.query(asked(expr))
    }
    await until(queried, (series) => series.length > 0, expr)
  })

  test('knows what was done here: a payment, its replay, a mismatch, and a doubt that was settled', async () => {
    const sum = async (name: string, labels = '') => {
      const [series] = await prometheus.query(`sum(api_idempotency_${name}_total{${labels}})`)
      return Number(series?.value[1])
    }
    await until(
      () => sum('reconcile_resolved_count', 'of="record"'),
      (count) => count >= 1,
      'the doubt to be settled',
    )
    expect(await sum('reserve_created_count', 'operation="payments.create"')).toBe(2)
    expect(await sum('reserve_replay_count', 'operation="payments.create"')).toBeGreaterThanOrEqual(1)
    expect(await sum('reserve_key_misuse_count', 'operation="payments.create"')).toBe(1)
    expect(await sum('reconcile_scheduled_count', 'of="record"')).toBeGreaterThanOrEqual(1)
  })

  test('is given a page that promtool is content with', async () => {
    const page = await fetch(`${sandbox.url}/metrics`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    expect(await promtool(['check', 'metrics'], await page.text())).toEqual({ isContent: true, says: '' })
  })
})

test('the metrics are told to nobody who asks from another machine', async () => {
  const sandbox = await openSandbox(settingsFrom({ HAPAX_DATA_DIR: await emptyDirectory() }))
  const app = webApp()
  addRoutes(app, sandbox)
  const ask = (remoteAddress: string) => app.inject({ url: '/metrics', remoteAddress })
  for (const here of ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'])
    expect((await ask(here)).statusCode, here).toBe(200)
  for (const elsewhere of ['192.0.2.7', '::ffff:192.0.2.7', '2001:db8::127.0.0.1', '10.127.0.1'])
    expect((await ask(elsewhere)).json(), elsewhere).toMatchObject({ status: 403, code: 'loopback_only' })
  await app.close()
  await closeSandbox(sandbox, [])
})
