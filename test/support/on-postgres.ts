import { describe, test } from 'vitest'

/** Where the tests find PostgreSQL and the pooler in front of it; without one they are skipped, and say so. */

export const serverUrl = process.env.HAPAX_TEST_POSTGRES_URL
export const noServer = 'no PostgreSQL, set HAPAX_TEST_POSTGRES_URL'

export const poolerUrl = process.env.HAPAX_TEST_PGBOUNCER_URL
export const noPooler = `no pgbouncer, ${process.env.HAPAX_TEST_PGBOUNCER_MISSING ?? 'set HAPAX_TEST_PGBOUNCER_URL'}`

/** Declares tests that need a server. Without one, a single skip stands for them. */
export function onPostgres(group: string, declare: (url: string) => void): void {
  if (serverUrl === undefined) test.skip(`${group} (skipped: ${noServer})`, () => {})
  else describe(group, () => declare(serverUrl))
}
