import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prometheusText, telemetry } from 'hapax/telemetry'
import { expect, onTestFinished, test } from 'vitest'
import { alerts } from '../../scripts/telemetry/alerts.mjs'
import { telemetryFiles } from '../../scripts/telemetry/files.mjs'
import { bench } from '../support/bench.js'
import { onPrometheus, promtool } from '../support/prometheus.js'

/** What is shipped for Prometheus is what the source says, and Prometheus's own tool is content with it. */

const folder = fileURLToPath(new URL('../../telemetry/', import.meta.url))

test('the dashboard and the alerts are as `npm run telemetry` writes them', () => {
  for (const [name, text] of Object.entries(telemetryFiles()))
    expect(readFileSync(join(folder, name), 'utf8'), name).toBe(text)
  expect(readdirSync(folder).sort()).toEqual([...Object.keys(telemetryFiles()), 'README.md'].sort())
})

test('each alert shows when it fires, and when it does not', () => {
  for (const { name, scenes } of alerts) {
    expect(scenes.filter(({ fires }) => fires.length > 0).length, name).toBeGreaterThan(0)
    expect(scenes.filter(({ fires }) => fires.length === 0).length, name).toBeGreaterThan(0)
  }
})

onPrometheus('promtool', () => {
  test('is content with the page, whatever an operation is called', async () => {
    const { hapax } = bench()
    const watch = telemetry({ hapax, every: 'off' })
    onTestFinished(() => watch.stop())
    for (const name of ['payments.create', 'say "hi" \\ {le="1"} 5', 'a,b=c'])
      await hapax.run({ scope: 'acme', key: name, policy: hapax.policy({ name }) }, async () => 1)
    await watch.sample()
    expect(await promtool(['check', 'metrics'], prometheusText(watch))).toEqual({ isContent: true, says: '' })
  })

  test('is not content with just anything', async () => {
    expect((await promtool(['check', 'metrics'], 'a_total{of="unclosed} 1\n')).isContent).toBe(false)
  })

  test('is content with the rules', async () => {
    expect((await promtool(['check', 'rules', join(folder, 'alerts.yml')])).says).toContain('SUCCESS')
  })

  test('sees every alert fire when it should, and no other time', async () => {
    const { isContent, says } = await promtool(['test', 'rules', join(folder, 'alerts.test.yml')])
    expect(says).toContain('SUCCESS')
    expect(isContent).toBe(true)
  })

  test('would see it if any of them were deaf', async () => {
    const spoiled = await mkdtemp(join(tmpdir(), 'hapax-rules-'))
    onTestFinished(() => rm(spoiled, { recursive: true, force: true }))
    const rules = readFileSync(join(folder, 'alerts.yml'), 'utf8')
    // A text on one line and one on many: both ask for nothing then.
    const deaf = rules.replaceAll(/(- alert: .*\n +expr: )("|\|-\n +)/g, '$1$2vector(0) > 1 and ')
    await writeFile(join(spoiled, 'alerts.yml'), deaf)
    await writeFile(join(spoiled, 'alerts.test.yml'), telemetryFiles()['alerts.test.yml'] ?? '')
    const { isContent, says } = await promtool(['test', 'rules', join(spoiled, 'alerts.test.yml')])
    expect(isContent).toBe(false)
    for (const { name } of alerts) expect(says).toContain(`alertname: ${name}`)
  })
})
