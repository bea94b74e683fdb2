/** What is made here and kept in `telemetry/`: who watches over Hapax takes it from there. */
import { dashboard } from './dashboard.mjs'
import { rulesText, ruleTestsText } from './rules.mjs'

/** @returns {Readonly<Record<string, string>>} each file, by its name in `telemetry/` */
export function telemetryFiles() {
  return {
    'alerts.yml': rulesText(),
    'alerts.test.yml': ruleTestsText(),
    'dashboard.json': `${JSON.stringify(dashboard(), undefined, 2)}\n`,
  }
}
