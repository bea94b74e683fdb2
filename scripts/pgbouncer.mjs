/**
 * A real pgbouncer in transaction mode for the tests, in front of their PostgreSQL: the one that
 * `HAPAX_TEST_PGBOUNCER_URL` names, or one of our own from the first source that gives one which starts.
 */
import process from 'node:process'
import { debianBinary, installedBinary } from './pgbouncer/binaries.mjs'
import { startPooler } from './pgbouncer/pooler.mjs'

/**
 * @param {import('./postgres.mjs').Postgres} postgres
 * @param {(line: string) => void} say
 * @returns {Promise<import('./postgres.mjs').Postgres>}
 */
export async function startPgbouncer(postgres, say) {
  const url = process.env.HAPAX_TEST_PGBOUNCER_URL
  if (url) return { kind: 'running', url, source: 'HAPAX_TEST_PGBOUNCER_URL', stop: async () => {} }
  if (postgres.kind === 'missing') return { kind: 'missing', reason: 'there is no PostgreSQL behind it' }

  const reasons = []
  for (const source of [installedBinary, debianBinary]) {
    try {
      return await startPooler(await source(say), postgres.url)
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { kind: 'missing', reason: reasons.join('; ') }
}
