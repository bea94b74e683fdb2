// Another process that wants somebody else's key. Tries to reserve it each time it is told to, and says what it got.
import { keyOf, scopeOf } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'

const [path, key] = process.argv.slice(2)
const store = sqliteStore({ path, busyTimeout: '100ms' })
await store.open()

process.on('message', async () => {
  try {
    const { kind } = await store.reserve({
      scope: scopeOf('acme'),
      key: keyOf(key),
      claimId: crypto.randomUUID(),
      operation: 'payments.create',
      fingerprints: ['v1:00'],
      leaseMs: 30_000,
      retentionMs: 86_400_000,
      tombstoneMs: 0,
      onLeaseOver: 'resume',
      onExpired: 'run',
    })
    process.send({ verdict: kind })
  } catch (error) {
    process.send({ error: error.code })
  }
})
process.send('ready')
