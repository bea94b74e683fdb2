import {
  onServer,
  type PostgresTestDatabase,
  postgresTestDatabase,
  select,
} from '../../sandbox/postgres-test-database.js'
import { startProviders } from '../../sandbox/providers-process.js'
import { type Api, type SandboxProcess, startSandbox } from '../../sandbox/sandbox-process.js'
import { startSupervised } from '../../sandbox/supervised-sandbox.js'
import { pinnedClock } from '../../support/postgres-schema.js'
import { alternatingProxy } from './alternating-proxy.js'
import type { BlackBox, BlackBoxSettings } from './black-box.js'
import { usual } from './usual-settings.js'

/** Two APIs that share a database, and an outside world where there is one. */
export async function postgresBlackBox({ env = {}, providers = 'none' }: BlackBoxSettings = {}): Promise<BlackBox> {
  const database = await postgresTestDatabase()
  const start = providers === 'none' ? startSandbox : startSupervised
  const partners = providers === 'none' ? { url: '' } : await startProviders()
  const shared = { DATABASE_URL: database.url, HAPAX_PROVIDERS_URL: partners.url }
  const startTwo: StartTwo = (more) => {
    const settings = { env: { ...usual, ...more, ...shared } }
    return Promise.all([start(settings), start(settings)])
  }
  return boxOf({ database, partners }, await startTwo(env), startTwo)
}

interface Shared {
  readonly database: PostgresTestDatabase
  readonly partners: Api
}
type TwoNodes = readonly [SandboxProcess, SandboxProcess]
type StartTwo = (env: Record<string, string>) => Promise<TwoNodes>

async function boxOf(shared: Shared, nodes: TwoNodes, startTwo: StartTwo): Promise<BlackBox> {
  const { name, url, paymentsOf, recordsOf, withStore } = shared.database
  const sql = (text: string, values: readonly unknown[] = []) => select(url, text, values)
  return {
    url: await alternatingProxy([nodes[0].url, nodes[1].url]),
    nodes,
    partners: shared.partners,
    another: async ({ env = {} } = {}) => boxOf(shared, await startTwo(env), startTwo),
    stop: (signal) => Promise.all(nodes.map((node) => node.stop(signal))),
    paymentsOf,
    recordsOf,
    async recordOf(key) {
      const [row, ...others] = await sql('SELECT * FROM hapax.records WHERE idempotency_key = $1', [key])
      if (row === undefined || others.length > 0) throw new Error(`${key} has ${row ? 'several records' : 'no record'}`)
      const counts = { attempt: Number(row.attempt), generation: Number(row.generation) }
      const plain = Object.entries(row).map(([column, value]) => [column, value instanceof Date ? +value : value])
      return { ...Object.fromEntries(plain), ...counts }
    },
    change: async (key, set) => void (await sql(`UPDATE hapax.records SET ${set} WHERE idempotency_key = $1`, [key])),
    time: (ms) => `timestamptz 'epoch' + ${ms} * interval '1 millisecond'`,
    bytes: (value) => `decode('${Buffer.from(value).toString('hex')}', 'hex')`,
    sql: (text) => sql(text.replaceAll('{sandbox}', 'sandbox.').replaceAll('{hapax}', 'hapax.')),
    at: async (ms) => void (await sql(pinnedClock('hapax', ms))),
    withStore,
    withoutDatabase: (use) => withoutPostgres(name, use),
    async refusing({ customerId }, use) {
      const check = `CHECK (customer_id <> '${customerId}') NOT VALID`
      await sql(`ALTER TABLE sandbox.payments ADD CONSTRAINT refused ${check}`)
      return use().finally(() => sql('ALTER TABLE sandbox.payments DROP CONSTRAINT refused'))
    },
  }
}

/** Nobody is connected to this database meanwhile, and nobody may connect. */
export async function withoutPostgres<T>(name: string, use: () => Promise<T>): Promise<T> {
  await onServer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await onServer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
  try {
    return await use()
  } finally {
    await onServer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  }
}
