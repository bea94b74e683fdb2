import { Client } from 'pg'
import { expect, test } from 'vitest'

const url = process.env.HAPAX_TEST_POSTGRES_URL
const missing = process.env.HAPAX_TEST_POSTGRES_MISSING ?? 'npm test starts the server'

test.skipIf(url === undefined)(
  url === undefined
    ? `the PostgreSQL of the tests is a real server (skipped: ${missing})`
    : 'the PostgreSQL of the tests is a real server',
  async () => {
    const client = new Client(url)
    await client.connect()
    try {
      const { rows } = await client.query("select version() as version, current_setting('fsync') as fsync")
      expect(rows).toEqual([{ version: expect.stringMatching(/^PostgreSQL \d/), fsync: 'on' }])
    } finally {
      await client.end()
    }
  },
)
