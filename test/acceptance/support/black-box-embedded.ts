import { rename } from 'node:fs/promises'
import { sqliteStore } from 'hapax/sqlite'
import { pinSqliteClock } from '../../../dist/stores/sqlite/testing.js'
import { paymentsOf, recordsOf } from '../../sandbox/database.js'
import { type SandboxProcess, type Settings, startSandbox } from '../../sandbox/sandbox-process.js'
import { startSupervised } from '../../sandbox/supervised-sandbox.js'
import type { BlackBox, BlackBoxSettings } from './black-box.js'
import { databaseOf, recordOf, scriptOn, sqlOn } from './database.js'
import { usual } from './usual-settings.js'

/** One API on a SQLite file. */
export async function embeddedBlackBox({ env = {}, providers = 'none' }: BlackBoxSettings = {}): Promise<BlackBox> {
  const start = providers === 'none' ? startSandbox : startSupervised
  return boxOf(await start({ env: { ...usual, ...env } }), start)
}

function boxOf(node: SandboxProcess, start: (settings: Settings) => Promise<SandboxProcess>): BlackBox {
  const { url, dataDir } = node
  const path = databaseOf(node)
  return {
    url,
    nodes: [node],
    partners: { url: /^providers: (http:\S+),/m.exec(node.printed.stderr)?.[1] ?? '' },
    another: async ({ env = {} } = {}) => boxOf(await start({ dataDir, env: { ...usual, ...env } }), start),
    stop: async (signal) => [await node.stop(signal)],
    paymentsOf: async (payment) => paymentsOf(dataDir, payment),
    recordsOf: async (key) => recordsOf(dataDir, key),
    recordOf: async (key) => recordOf(path, key),
    change: async (key, set) => void sqlOn(path, `UPDATE hapax_records SET ${set} WHERE idempotency_key = ?`, key),
    time: String,
    bytes: (value) => `x'${Buffer.from(value).toString('hex')}'`,
    sql: async (text) => sqlOn(path, text.replaceAll('{sandbox}', '').replaceAll('{hapax}', 'hapax_')),
    at: (ms) => pinSqliteClock(path, ms),
    async withStore(use) {
      const store = sqliteStore({ path })
      await use(store).finally(() => store.close())
    },
    async withoutDatabase(use) {
      await rename(path, `${path}.away`)
      return use().finally(() => rename(`${path}.away`, path))
    },
    async refusing({ customerId }, use) {
      scriptOn(
        path,
        `CREATE TRIGGER refused AFTER INSERT ON payments WHEN new.customer_id = '${customerId}'
         BEGIN SELECT RAISE(ABORT, 'refused'); END`,
      )
      return use().finally(() => scriptOn(path, 'DROP TRIGGER refused'))
    },
  }
}
