// Another process that wants somebody else's key. Tries to reserve it each time it is told to, and says what it got.
import { keyOf } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { reservation } from '../../../dist/conformance/given.js'

const [path, key] = process.argv.slice(2)
const store = sqliteStore({ path, busyTimeout: '100ms' })
await store.open()

process.on('message', async () => {
  try {
    const { kind } = await store.reserve(reservation({ key: keyOf(key), tombstoneMs: 0, onLeaseOver: 'resume' }))
    process.send({ verdict: kind })
  } catch (error) {
    process.send({ error: error.code })
  }
})
process.send('ready')
