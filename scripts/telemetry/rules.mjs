/** The alerts as Prometheus reads them, and as promtool tests them. */
import { alerts, recorded } from './alerts.mjs'
import { yaml } from './yaml.mjs'

const generated = '# Made by `npm run telemetry` from scripts/telemetry/alerts.mjs: change it there.'

/** @param {import('./alerts.mjs').Alert} alert */
const annotationsOf = ({ summary, description, page }) => ({
  summary,
  description,
  runbook: `docs/operating/${page}.md`,
})

export function rulesText() {
  const recordings = Object.entries(recorded).map(([record, expr]) => ({ record, expr }))
  const rules = alerts.map((alert) => ({
    alert: alert.name,
    expr: alert.expr,
    for: alert.for,
    labels: { severity: alert.severity },
    annotations: annotationsOf(alert),
  }))
  return `${generated}\n${yaml({ groups: [{ name: 'hapax', rules: [...recordings, ...rules] }] })}\n`
}

/** Every scene as a test; `rules` is the file that the rules are in. */
export function ruleTestsText(rules = 'alerts.yml') {
  const tests = alerts.flatMap((alert) =>
    alert.scenes.map(({ title, series, at, fires }) => ({
      name: `${alert.name}: ${title}`,
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      alert_rule_test: [
        {
          eval_time: at,
          alertname: alert.name,
          exp_alerts: fires.map((labels) => ({
            exp_labels: { severity: alert.severity, ...labels },
            exp_annotations: annotationsOf(alert),
          })),
        },
      ],
    })),
  )
  return `${generated}\n${yaml({ rule_files: [rules], evaluation_interval: '1m', tests })}\n`
}
