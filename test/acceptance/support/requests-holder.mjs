/** A node that takes a key, gets half-way, says so, and never goes on: for a test to kill. */
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { engine } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'

const { path, key, lease, onCrash, where } = JSON.parse(process.argv[2] ?? '')
const hapax = engine({ store: sqliteStore({ path, transactionTimeout: '60s' }) })
const policy = hapax.policy({ name: 'payments.create', lease, onCrash, maxRun: '60m' })

const hang = async () => {
  process.send?.('half-way')
  await pause(60_000)
}

await hapax.run({ scope: 'acme', key, policy }, (work) => {
  if (where === 'handler') return hang()
  return work.commit(async ({ tx }) => {
    await tx.run({ sql: 'INSERT INTO orders VALUES (?)', parameters: [key] })
    await hang()
  })
})
