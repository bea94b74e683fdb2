/**
 * A reporter of vitest: what nobody has caught, in a file of its own. Such an error belongs to no test, so that no other report
 * has it, and fails the run all the same.
 */
import { writeFileSync } from 'node:fs'
import process from 'node:process'

export default class UnheardErrors {
  /** @type {NonNullable<import('vitest/node').Reporter['onTestRunEnd']>} */
  onTestRunEnd(_, errors) {
    const said = errors.map(({ name, message, ...at }) => {
      const where = [at.VITEST_TEST_PATH, at.VITEST_TEST_NAME].filter(Boolean).join(' › ')
      return `${name ?? 'Error'}: ${message}${where && ` (${where})`}`
    })
    writeFileSync(String(process.env.HAPAX_TEST_UNHEARD), JSON.stringify(said))
  }
}
