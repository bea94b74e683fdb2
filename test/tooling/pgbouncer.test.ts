import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { expect, test } from 'vitest'

const url = process.env.HAPAX_TEST_PGBOUNCER_URL
const missing = process.env.HAPAX_TEST_PGBOUNCER_MISSING ?? 'npm test starts the pooler'

const titled = (title: string) => (url === undefined ? `${title} (skipped: ${missing})` : title)

test.skipIf(url === undefined)(titled('the pooler of the tests is a real pgbouncer in transaction mode'), async () => {
  const settings = await asking({ database: 'pgbouncer' }, 'SHOW CONFIG')
  expect(settings).toContainEqual(expect.objectContaining({ key: 'pool_mode', value: 'transaction' }))
})

test.skipIf(url === undefined)(titled('a role that was just made may log in through the pooler'), async () => {
  const role = `hapax_${randomUUID().replaceAll('-', '')}`
  await asking({}, `CREATE ROLE ${role} LOGIN`)
  try {
    expect(await asking({ role }, 'SELECT current_user AS role')).toEqual([{ role }])
  } finally {
    await asking({}, `DROP ROLE ${role}`)
  }
})

async function asking({ database, role }: { database?: string; role?: string }, text: string): Promise<unknown[]> {
  const target = new URL(url ?? '')
  if (database !== undefined) target.pathname = database
  if (role !== undefined) target.username = role
  const client = new Client(target.href)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
