import { readdirSync, readFileSync } from 'node:fs'
import { definitions, type MetricDefinition, prometheusName } from 'hapax/telemetry'
import { expect, test } from 'vitest'
import { alerts } from '../../scripts/telemetry/alerts.mjs'

/** Whoever is woken finds a page, and no page is about an alert that there is not. */

const folder = new URL('../../docs/operating/', import.meta.url)
const text = (name: string) => readFileSync(new URL(name, folder), 'utf8')

test('each alert has a page, and each page an alert', () => {
  const pages = readdirSync(folder).filter((name) => name !== 'README.md')
  expect(pages.sort()).toEqual(alerts.map(({ page }) => `${page}.md`).sort())
})

test.each(alerts)('the page of $name says what it means, what to look at and what to do, with commands', (alert) => {
  const [title, summary, ...sections] = text(`${alert.page}.md`).split('\n\n')
  expect([title, summary]).toEqual([`# ${alert.name}`, alert.summary])
  const page = sections.join('\n\n')
  const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual(['What it means', 'What to look at', 'What to do', 'When it is over'])
  expect(page).toMatch(/^npx hapax /m)
})

test('the list of pages says of each alert what the alert itself says, and whether it wakes somebody', () => {
  const listed = [...text('README.md').matchAll(/^\| \[`(\w+)`\]\(([\w-]+)\.md\) \| (yes|no) \| (.*) \|$/gm)]
  expect(listed.map(([, name, page, wakes, summary]) => ({ name, page, wakes, summary }))).toEqual(
    alerts.map(({ name, page, severity, summary }) => ({
      ...{ name, page, summary },
      wakes: severity === 'critical' ? 'yes' : 'no',
    })),
  )
})

test('pages name only metrics that there are', () => {
  const known = readFileSync(new URL('../../telemetry/dashboard.json', import.meta.url), 'utf8')
  const pages = readdirSync(folder).map(text).join('\n')
  const named = [...new Set(pages.match(/api_idempotency_\w+/g))]
  expect(named.length).toBeGreaterThan(0)
  expect(named.filter((name) => !known.includes(name))).toEqual([])
})

test('the guide lists every metric, as OpenTelemetry and as Prometheus are told, and no other', () => {
  const guide = readFileSync(new URL('../../docs/guides/telemetry.md', import.meta.url), 'utf8')
  const listed = [...guide.matchAll(/^\| `([\w.]+)` \| `(\w+)` \| (\w+) \| ([\w, ]*) \| (.*) \|$/gm)]
  const rows = Object.values<MetricDefinition>(definitions).map((metric) => {
    const { name, kind, labels, help } = metric
    return [name, prometheusName(metric), kind, labels.join(', '), help]
  })
  expect(listed.map(([, ...row]) => row)).toEqual(rows)
})

test('pages name only panels that the dashboard has', () => {
  const { panels } = JSON.parse(readFileSync(new URL('../../telemetry/dashboard.json', import.meta.url), 'utf8')) as {
    panels: { title: string }[]
  }
  const titles = panels.map(({ title }) => title)
  const emphasised = [
    ...readdirSync(folder)
      .map(text)
      .join('\n')
      .matchAll(/(?<!\*)\*([^*\n]+)\*(?!\*)/g),
  ]
  const named = emphasised.map(([, name = '']) => name.split(' › ').at(-1) ?? '')
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((name) => !titles.some((title) => title === name || title.startsWith(`${name},`)))).toEqual([])
})
